// The console. Its lines go to the kernel with their level.
let consoleIndent = "";
const consoleCounts = new OwnMap(), consoleTimers = new OwnMap();

const logLine = (level, args) => {
  let text;
  try { text = format(args); } catch (thrown) { text = "(console could not show this: " + errorText(thrown) + ")"; }
  if (text.includes(`(${preludeName}:`)) text = gadgetFrames(text); // a stack that was printed as a text
  hostLog(level, consoleIndent === "" ? text : consoleIndent + text.replaceAll("\n", "\n" + consoleIndent));
};

const consoleObject = {
  debug(...args) { logLine("debug", args); },
  log(...args) { logLine("log", args); },
  info(...args) { logLine("info", args); },
  warn(...args) { logLine("warn", args); },
  error(...args) { logLine("error", args); },
  trace(...args) { logLine("debug", [...args, "\n" + new ErrorClass().stack]); },
  dir(value) { logLine("log", [value]); },
  table(value) { logLine("log", [value]); },
  assert(condition, ...args) { if (!condition) logLine("error", ["Assertion failed" + (args.length > 0 ? ":" : ""), ...args]); },
  group(...args) { if (args.length > 0) logLine("log", args); consoleIndent += "  "; },
  groupCollapsed(...args) { consoleObject.group(...args); },
  groupEnd() { consoleIndent = consoleIndent.slice(2); },
  count(label = "default") {
    const n = (consoleCounts.get(label) ?? 0) + 1;
    consoleCounts.set(label, n);
    logLine("info", [`${label}: ${n}`]);
  },
  countReset(label = "default") { consoleCounts.delete(label); },
  time(label = "default") { consoleTimers.set(label, now()); },
  timeLog(label = "default", ...args) { logLine("info", [`${label}: ${now() - (consoleTimers.get(label) ?? now())} ms`, ...args]); },
  timeEnd(label = "default") { consoleObject.timeLog(label); consoleTimers.delete(label); },
};

// logFailure records what a method, a timer or a callback threw. It never fails itself.
const logFailure = (where, thrown) => {
  let text;
  try { text = inspect(thrown, 0, []); } catch { text = errorText(thrown); }
  if (text.length > maxText) text = text.slice(0, maxText);
  hostLog("error", where + ": " + text);
};
