// The web's globals that the engine lacks.
const noNetwork = (name) => new ErrorClass(`${name} is not available: a gadget has no network. Ask for a binding and call it through env.`);

const randomBytes = (view) => {
  const kind = isObject(view) ? apply(viewKind, view, []) : undefined;
  if (kind === undefined && viewOf(view) === null) throw new TypeErrorClass("getRandomValues needs a typed array of whole numbers");
  if (kind === undefined || kind === "Float16Array" || kind === "Float32Array" || kind === "Float64Array") throw new DOMExceptionClass("getRandomValues needs a typed array of whole numbers", "TypeMismatchError");
  const bytes = bytesOf(view);
  if (bytes.length > 65536) throw new DOMExceptionClass("getRandomValues gives at most 65536 bytes", "QuotaExceededError");
  apply(setBytes, bytes, [hostRandom(bytes.length)]);
  return view;
};

const randomUUID = () => {
  const b = hostRandom(16);
  b[6] = b[6] & 0x0f | 0x40;
  b[8] = b[8] & 0x3f | 0x80;
  let text = "";
  for (let i = 0; i < 16; i++) text += (i === 4 || i === 6 || i === 8 || i === 10 ? "-" : "") + hexDigits[b[i] >> 4] + hexDigits[b[i] & 15];
  return text;
};
const hexDigits = "0123456789abcdef";

const engineMicrotask = queueMicrotask;
const globals = {
  console: consoleObject,
  performance: performanceObject,
  setTimeout: (callback, ms, ...args) => addTimer(callback, ms, args, false),
  setInterval: (callback, ms, ...args) => addTimer(callback, ms, args, true),
  clearTimeout: clearTimer,
  clearInterval: clearTimer,
  queueMicrotask: (callback) => {
    if (typeof callback !== "function") throw new TypeErrorClass("queueMicrotask needs a function");
    engineMicrotask(() => { try { apply(callback, undefined, []); } catch (thrown) { logFailure("a microtask failed", thrown); } });
  },
  reportError: (thrown) => { logFailure("reported", thrown); },
  structuredClone,
  TextEncoder,
  TextDecoder,
  crypto: {
    getRandomValues: randomBytes,
    randomUUID,
    get subtle() { return late("subtle").subtle; },
  },
  fetch: () => done(() => { throw noNetwork("fetch"); }),
  WebSocket: class WebSocket { constructor() { throw noNetwork("WebSocket"); } },
  connect: () => { throw noNetwork("connect"); },
};
for (const name of objectKeys(globals)) hide(globalThis, name, globals[name]);
hide(globalThis, "self", globalThis);
for (const [object, name] of [[globals.crypto, "Crypto"], [consoleObject, "console"], [performanceObject, "Performance"]]) defineProperty(object, Symbol.toStringTag, { value: name, configurable: true });
