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
  table(value, columns) {
    let shown = value;
    if (isObject(value)) try { shown = late("table").tableText(value, isArray(columns) ? columns : null); } catch {} // what throws when it is looked at
    logLine("log", [shown]);
  },
  assert(condition, ...args) { if (!condition) logLine("error", ["Assertion failed" + (args.length > 0 ? ":" : ""), ...args]); },
  group(...args) { if (args.length > 0) logLine("log", args); consoleIndent += "  "; },
  groupCollapsed(...args) { consoleObject.group(...args); },
  groupEnd() { consoleIndent = consoleIndent.slice(2); },
  count(label = "default") {
    const n = (consoleCounts.get(label) ?? 0) + 1;
    consoleCounts.set(label, n);
    logLine("info", [`${label}: ${n}`]);
  },
  countReset(label = "default") { if (!consoleCounts.delete(label)) logLine("warn", [`there is no count ${textOf(label)}`]); },
  time(label = "default") {
    if (consoleTimers.has(label)) return logLine("warn", [`the timer ${textOf(label)} runs already`]);
    consoleTimers.set(label, performanceNow());
  },
  timeLog(label = "default", ...args) {
    const from = consoleTimers.get(label);
    if (from === undefined) logLine("warn", [`there is no timer ${textOf(label)}`]);
    else logLine("info", [`${textOf(label)}: ${+(performanceNow() - from).toFixed(3)} ms`, ...args]);
  },
  timeEnd(label = "default") { consoleObject.timeLog(label); consoleTimers.delete(label); },
};

// logFailure records what a method, a timer or a callback threw. It never fails itself.
const logFailure = (where, thrown) => {
  let text;
  try { text = inspect(thrown, 0, []); } catch { text = errorText(thrown); }
  if (text.length > maxText) text = text.slice(0, maxText);
  hostLog("error", where + ": " + text);
};

// Promises that were rejected and that nobody waits for yet. What is still here when the turn has ended is told, once.
const maxUnheard = 100;
const unheard = new OwnMap(); // promise -> what it was rejected with
let unheardTimer = 0, unheardCount = 0;

const noteRejection = (promise, reason, handled) => {
  if (handled) {
    if (!unheard.delete(promise) || unheard.size > 0 || unheardCount > 0) return;
    clearTimer(unheardTimer);
    unheardTimer = 0;
    return;
  }
  if (unheardTimer === 0) unheardTimer = addDeadline(tellUnheard, 0);
  if (unheard.size < maxUnheard) unheard.set(promise, reason);
  else unheardCount++;
};

const tellUnheard = () => {
  const reasons = [], more = unheardCount;
  apply(mapEach, unheard, [(reason) => { reasons[reasons.length] = reason; }]);
  unheard.clear();
  unheardTimer = unheardCount = 0;
  for (let i = 0; i < reasons.length; i++) logFailure("a promise failed, and nobody handled that", reasons[i]);
  if (more > 0) hostLog("error", `and ${more} more promises failed in the same turn`);
};
