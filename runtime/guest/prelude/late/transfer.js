// structuredClone with transfer (HTML Standard, 2.7.8): buffers are handed over, and are empty here afterwards. Streams are not
// transferable here: a gadget has nobody to transfer them to but itself.
const cloneWith = (value, list) => {
  const buffers = [];
  if (!isObject(list) && typeof list !== "function" || typeof list[iteratorSymbol] !== "function") throw new TypeErrorClass("transfer must be a list");
  for (const item of list) {
    if (!isObject(item) && typeof item !== "function") throw new TypeErrorClass("transfer must be a list of objects");
    buffers[buffers.length] = item;
  }
  const cloner = new Cloner(false), uncloner = new Uncloner(), refuse = (why) => new DOMExceptionClass(why, "DataCloneError");
  cloner.moved = new OwnMap();
  for (let i = 0; i < buffers.length; i++) {
    if (!isBuffer(buffers[i])) throw refuse("only an ArrayBuffer can be transferred");
    if (cloner.moved.has(buffers[i])) throw refuse("the list of what is transferred has an ArrayBuffer twice");
    cloner.moved.set(buffers[i], i);
  }
  const tree = parseJSON(stringify(cloner.encode(value, 0)));
  for (let i = 0; i < buffers.length; i++) if (apply(bufferDetached, buffers[i], [])) throw refuse("the ArrayBuffer was transferred before");
  uncloner.moved = [];
  for (let i = 0; i < buffers.length; i++) uncloner.moved[i] = apply(bufferTransfer, buffers[i], []);
  return uncloner.decode(tree);
};
const isBuffer = (item) => { try { apply(bufferBytes, item, []); return true; } catch { return false; } };
