package host

// fakePrelude follows the same interface as the real prelude with a protocol of its own: a message is the JSON
// [id, method, argument]; the answer is "id=JSON" or "id!error".
const fakePrelude = `(() => {
  const h = globalThis.__host; delete globalThis.__host;
  const P = Promise, parse = JSON.parse, string = JSON.stringify;
  let G, g, running = null;
  globalThis.console = { log: (...a) => h.log("log", a.join(" ")) };
  return {
    boot(ns) { G = ns.Gadget; return typeof G === "function" ? "" : "server.js has no exported class named Gadget" },
    start(json) { const s = parse(json); g = new G({ host: h, id: s.id, bindings: s.bindings }) },
    deliver(text) {
      const [id, method, arg] = parse(text);
      running = id;
      const fail = e => { try { h.send(id + "!" + e) } catch { h.send(id + "!an error") } };
      try {
        const r = g[method](arg);
        if (r instanceof P) r.then(v => h.send(id + "=" + string(v)), fail);
        else h.send(id + "=" + string(r));
      } catch (e) { fail(e) }
      running = null;
    },
    wake() { h.send("woke") },
    interrupted(text) { if (running !== null) h.send(running + "!" + text); running = null },
  };
})()`
