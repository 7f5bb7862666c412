// Parts of the prelude that most gadgets never use. They lie here as text, which costs a start image a third of what
// their functions would, and are evaluated when one of their names is first used. By then a gadget may have replaced
// any builtin: what they need of the language is in lateKit.
const evaluateText = eval;
const tagSymbol = Symbol.toStringTag;
const tag = (Class, name) => defineProperty(Class.prototype, tagSymbol, { value: name, configurable: true });

const lateKit = {
  apply, create, slice, defineProperty, hide, uncurry, tag, freeze, isArray, isInteger, isObject, inherits, getPrototypeOf, objectKeys, hasOwn, late,
  iteratorSymbol: Symbol.iterator, asyncIteratorSymbol: Symbol.asyncIterator, ownKeys: Reflect.ownKeys, propertyOf: Object.getOwnPropertyDescriptor,
  codeAt, fromCodePoint, lowerCase, bytesSlice, textSlice: sliceOf,
  upperCase: uncurry(String.prototype.toUpperCase), normalize: uncurry(String.prototype.normalize), includes: uncurry(String.prototype.includes),
  indexOfText: uncurry(String.prototype.indexOf), wellFormed: uncurry(String.prototype.toWellFormed),
  numberText: Number.prototype.toString, sortList: uncurry(Array.prototype.sort), floor: Math.floor, parseJSON, stringify, join, setEach, setBytes: uncurry(TypedArrayPrototype.set), laterVersion: later, epochNow: now, performanceNow,
  hostRandom, hostDigest, hostHMAC, hostSeal, hostOpen, hostEqual, hostDomain, toBase64, fromBase64,
  Uint8, viewBuffer, bytesOf, isBufferSource, encodeUTF8, isPair, Cloner, Uncloner, bufferBytes, bufferDetached, bufferTransfer, TextDecoder, encodingOf, OwnMap, OwnSet, OwnWeakMap, regExpExec: RegExpPrototype.exec, ArrayBufferPrototype, containerNames,
  TypeErrorClass, RangeErrorClass, DOMExceptionClass, PromiseClass, promiseThen, PromisePrototype, textOf, logFailure, addTimer,
  inspect, mapEach, maxShown, maxDepth, MapPrototype, SetPrototype, moveStream, sectionNow: () => section, sendStream, sendPipe, exportEntry, Future, Context, streamHolders, Refusal, wrong, end, cannotSend,
};

const lateParts = create(null); // name -> what the part gives
function late(name) {
  if (lateParts[name] !== undefined) return lateParts[name];
  const head = "\"use strict\"; ({" + apply(join, objectKeys(lateKit), [","]) + "}) => {\n";
  const part = apply(evaluateText, undefined, [head + lateTexts[name].text + "\n}"])(lateKit);
  delete lateTexts[name].text;
  for (let i = 0; i < lateTexts[name].globals.length; i++) {
    const Class = part[lateTexts[name].globals[i]];
    lateClasses.set(Class.prototype, Class.name);
  }
  return lateParts[name] = part;
}

// A global of a late part is an accessor until it is first read or written.
for (const name of objectKeys(lateTexts)) {
  for (const key of lateTexts[name].globals) {
    defineProperty(globalThis, key, {
      get() {
        const value = late(name)[key];
        try { hide(globalThis, key, value); } catch {} // a gadget may have frozen its globals
        return value;
      },
      set(value) { hide(globalThis, key, value); },
      enumerable: false, configurable: true,
    });
  }
}
