// How console shows a value: short, on as few lines as are readable, and never failing.
const maxShown = 100, maxDepth = 4, maxText = 32 * 1024;

const quote = (text) => (text.length > 1000 ? stringify(text.slice(0, 1000)) + `… ${text.length - 1000} more` : stringify(text));
const showKey = (key) => (typeof key === "symbol" ? `[${key.toString()}]` : /^[A-Za-z_$][\w$]*$/.test(key) ? key : quote(key));

const inspect = (value, depth, seen) => {
  switch (typeof value) {
    case "string": return quote(value);
    case "bigint": return `${value}n`;
    case "symbol": return value.toString();
    case "number": return isSame(value, -0) ? "-0" : `${value}`;
    case "function": return inspectFunction(value);
    case "object": break;
    default: return `${value}`;
  }
  if (value === null) return "null";
  if (seen.includes(value)) return "[Circular]";
  try {
    seen.push(value);
    return inspectObject(value, depth, seen);
  } catch (thrown) {
    return `[an object that throws when it is looked at: ${errorText(thrown)}]`;
  } finally {
    seen.pop();
  }
};

const inspectFunction = (f) => {
  const handler = stubHandlers.get(f);
  if (handler !== undefined) return handler.path === null || handler instanceof BindingHandler ? "[RpcStub]" : "[RpcPromise]";
  try {
    const name = textOf(f.name);
    return `[${/^class\b/.test(Function.prototype.toString.call(f)) ? "class" : "Function"}${name ? " " + name : " (anonymous)"}]`;
  } catch { return "[Function]"; }
};

const inspectObject = (value, depth, seen) => {
  const prototype = getPrototypeOf(value), Class = prototype === null ? null : prototype.constructor;
  const name = prototype === null ? "[no prototype]" : typeof Class === "function" ? textOf(Class.name) : "Object";
  if (inherits(value, ErrorPrototype)) return inspectError(value, depth, seen);
  if (prototype === DatePrototype) return isFinite_(apply(dateTime, value, [])) ? value.toISOString() : "Invalid Date";
  if (prototype === RegExpPrototype) return value.toString();
  if (prototype === PromisePrototype) return "Promise {}";
  const kind = containerNames.get(prototype);
  if (prototype === ArrayBufferPrototype || kind === "DataView") return `${name}(${value.byteLength})`;
  if (lateClasses.get(prototype) === name && (name === "URL" || name === "Headers" || name === "URLSearchParams" || name === "Blob")) return inspectLate(value, name);
  if (depth >= maxDepth) return isArray(value) ? `[Array(${value.length})]` : `[${name}]`;
  if (isArray(value) || kind !== undefined) {
    const prefix = name === "Array" ? "" : `${name}(${value.length}) `;
    return prefix + brackets("[", inspectItems(value, depth, seen), "]");
  }
  if (inherits(value, MapPrototype)) {
    const items = [];
    apply(mapEach, value, [(v, k) => items.push(`${inspect(k, depth + 1, seen)} => ${inspect(v, depth + 1, seen)}`)]);
    return `${name}(${items.length}) ` + brackets("{", shorten(items), "}");
  }
  if (inherits(value, SetPrototype)) {
    const items = [];
    apply(setEach, value, [(v) => items.push(inspect(v, depth + 1, seen))]);
    return `${name}(${items.length}) ` + brackets("{", shorten(items), "}");
  }
  return (name === "Object" ? "" : name + " ") + brackets("{", inspectFields(value, depth, seen), "}");
};

const inspectLate = (value, name) => {
  if (name === "URL") return `URL ${value.href}`;
  if (name === "Blob") return `Blob(${value.size}) ${quote(value.type)}`;
  const items = [];
  value.forEach((v, k) => items.push(`${quote(k)} => ${quote(v)}`));
  return `${name}(${items.length}) ` + brackets("{", shorten(items), "}");
};

const shorten = (items) => (items.length <= maxShown ? items : items.slice(0, maxShown).concat(`… ${items.length - maxShown} more`));

const inspectItems = (list, depth, seen) => {
  const items = [], length = list.length;
  for (let i = 0; i < length && i < maxShown; i++) items.push(hasOwn(list, i) ? inspect(list[i], depth + 1, seen) : "<empty>");
  if (length > maxShown) items.push(`… ${length - maxShown} more`);
  return items;
};

const inspectFields = (value, depth, seen) => {
  const items = [], keys = objectKeys(value);
  for (let i = 0; i < keys.length && i < maxShown; i++) {
    const key = keys[i], d = Object.getOwnPropertyDescriptor(value, key);
    items.push(`${showKey(key)}: ${d === undefined || "value" in d ? inspect(d === undefined ? undefined : d.value, depth + 1, seen) : "[Getter]"}`);
  }
  if (keys.length > maxShown) items.push(`… ${keys.length - maxShown} more`);
  return items;
};

const inspectError = (error, depth, seen) => {
  const stack = typeof error.stack === "string" ? gadgetFrames(error.stack) : "";
  const fields = depth < maxDepth ? inspectFields(error, depth, seen) : [];
  let text = errorText(error) + (stack === "" ? "" : "\n" + stack);
  if (error.cause !== undefined && depth < maxDepth) text += `\ncaused by ${inspect(error.cause, depth + 1, seen)}`;
  return fields.length === 0 ? text : `${text} ${brackets("{", fields, "}")}`;
};

// gadgetFrames leaves the prelude's own frames out of a stack: nobody can do anything about them. Those of its late
// parts are named as everything is that was evaluated from a text.
const preludeName = (/\(([^()]*):\d+:\d+\)/.exec(new ErrorClass().stack) ?? ["", "prelude.js"])[1];
const gadgetFrames = (stack) => stack.trimEnd().split("\n").filter((line) => !line.includes(`(${preludeName}:`) && !line.includes("(<input>:") && !line.includes("at apply (native)")).join("\n");

// failureText is what was thrown with where, for the person who has to mend it.
const failureText = (thrown) => {
  const text = errorText(thrown);
  try {
    const frames = isObject(thrown) && inherits(thrown, ErrorPrototype) && typeof thrown.stack === "string" ? gadgetFrames(thrown.stack) : "";
    return frames === "" ? text : text + "\n" + frames;
  } catch { return text; }
};

const brackets = (open, items, close) => {
  if (items.length === 0) return open + close;
  const line = items.join(", ");
  if (line.length <= 76 && !line.includes("\n")) return open === "{" ? `{ ${line} }` : `[${line}]`;
  return `${open}\n${items.map((item) => "  " + item.replaceAll("\n", "\n  ")).join(",\n")}\n${close}`;
};

// format is what console.log prints: the first argument's % directives filled, the rest appended.
const format = (args) => {
  let start = 0, text = "";
  if (typeof args[0] === "string") {
    start = 1;
    text = (args[0].length > maxText ? sliceOf(args[0], 0, maxText) : args[0]).replace(/%[sdifoOjc%]/g, (directive) => {
      if (directive === "%%") return args.length > 1 ? "%" : "%%";
      if (start >= args.length) return directive;
      const value = args[start++];
      switch (directive) {
        case "%s": return typeof value === "string" ? value : inspect(value, maxDepth - 1, []);
        case "%d": case "%f": return typeof value === "bigint" ? `${value}n` : `${Number(value)}`;
        case "%i": return `${parseInt(value, 10)}`;
        case "%j": return stringify(value);
        case "%c": return "";
        default: return inspect(value, 0, []);
      }
    });
  }
  for (; start < args.length; start++) {
    if (start > 0) text += " ";
    text += typeof args[start] === "string" ? args[start] : inspect(args[start], 0, []);
  }
  return text.length > maxText ? text.slice(0, maxText) + `… ${text.length - maxText} more characters` : text;
};
