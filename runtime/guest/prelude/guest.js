// What the child calls.
let Gadget = null;
class Shell {} // is made with the gadget's class as its own, which runs nothing of it

const guest = {
  // boot takes the namespace of server.js. It returns "", or what is wrong with it.
  boot(namespace) {
    try { Gadget = namespace.Gadget; } catch (thrown) { return "server.js cannot be used: " + errorText(thrown); }
    if (typeof Gadget !== "function") return "server.js has no exported class named Gadget";
    try { construct(Shell, [], Gadget); } catch { return "server.js exports a Gadget that is not a class: write export class Gadget extends DurableObject"; }
    return "";
  },

  // start makes the gadget. It returns "", or what its constructor threw.
  start(json) {
    const { id, bindings } = parseJSON(json);
    beginClock();
    const main = new Remote(0);
    imports.set(0, main);
    const root = new StubHandler(main, null, true);
    for (let i = 0; i < bindings.length; i++) bind(root, bindings[i]);
    bind(root, "GADGET");
    let gadget;
    try {
      gadget = new Gadget(new GadgetContext(id), env);
    } catch (thrown) {
      logFailure("the constructor of Gadget failed", thrown);
      return failureText(thrown) || "the constructor of Gadget failed";
    }
    mainTarget = gadget;
    exports_.set(0, new Shared(new Box(gadget, true)));
    if (somethingWaits()) apply(promiseThen, new PromiseClass((resolve) => resolve()), [beginConstructors]);
    return "";
  },

  rejected: noteRejection,
  deliver: receive,
  wake: runTimers,

  // interrupted is called after the host has cut a turn off.
  interrupted(text) {
    interruptSession(text);
    resetWake();
  },
};

// beginConstructors begins what a constructor asked for in the turn of the start, so that a failure there is one of the start.
const beginConstructors = () => {
  runWaiting();
  resetWake();
};

// bind puts a stub on the kernel's property of that name into env.
const bind = (root, name) => {
  const handler = root.child(name);
  handler.owner = false;
  hide(env, name, makeProxy(new BindingHandler(handler.hook, handler.path)));
  defineProperty(env, name, { __proto__: null, enumerable: true, writable: false });
};

// BindingHandler is a promise of RPC that shows itself as a stub: awaiting it gives itself.
class BindingHandler extends StubHandler {
  constructor(hook, path) { super(hook, path, false); }
  get(target, name) {
    if (name === "then" || name === "catch" || name === "finally") return undefined;
    if (name === "dup") return () => makeProxy(new BindingHandler(this.hook, this.path));
    return super.get(target, name);
  }
  getPrototypeOf() { return RpcStub.prototype; }
}

for (const Class of [Future, Box, Local, Later, StubHandler, Context, Outgoing, Shared, Remote, Restored, Given, Scope, Recorder, Placeholder, Section, Cloner, Uncloner]) {
  free(Class.prototype);
}
