/**
 * The bootstrap of a gadget's frame. It runs before any code of the gadget, in
 * a document of opaque origin without a network, and holds one end of a message
 * channel. It shares its realm with the gadget, so nothing here is a wall: the
 * shell believes nothing that comes over the port, and the kernel neither.
 */
import { newMessagePortRpcSession, RpcSession, RpcStub, RpcTarget, type RpcTransport } from "capnweb";
import { inspect } from "./inspect";
import { forwardSaves } from "./save";

const channel = new MessageChannel();
const port = channel.port1;
const post = port.postMessage.bind(port);

function portTransport(): RpcTransport & { take(message: string | null): void } {
  const queue: string[] = [];
  let waiting: { resolve(m: string): void; reject(e: unknown): void } | undefined;
  let over = false;
  const gone = () => new Error("The connection to this gadget's server is closed.");
  return {
    take(message) {
      const taker = waiting;
      waiting = undefined;
      if (message === null) {
        over = true;
        taker?.reject(gone());
      } else if (taker) taker.resolve(message);
      else queue.push(message);
    },
    send(message) {
      post(message);
    },
    receive() {
      const message = queue.shift();
      if (message !== undefined) return Promise.resolve(message);
      if (over) return Promise.reject(gone());
      return new Promise((resolve, reject) => {
        waiting = { resolve, reject };
      });
    },
    abort() {
      post(null);
    },
  };
}

const transport = portTransport();

function forwardConsole(): void {
  for (const level of ["debug", "log", "info", "warn", "error"] as const) {
    const original = console[level].bind(console);
    console[level] = (...values: unknown[]) => {
      original(...values);
      post({ console: { level, text: values.map((v) => inspect(v)).join(" ") } });
    };
  }
}

// An engine that does not heed sourceURL names the whole module in each line of a stack.
const moduleAddress = /data:text\/javascript\S*?(?=:\d+:\d+)/g;

function tellError(error: unknown, starting: boolean): void {
  const known = error instanceof Error;
  const message = known ? `${error.name}: ${error.message}` : inspect(error);
  post({ error: { message, stack: known ? String(error.stack ?? "").replace(moduleAddress, "client.js") : "", starting } });
}

function forwardErrors(): void {
  addEventListener("error", (event) => tellError(event.error ?? event.message, false));
  addEventListener("unhandledrejection", (event) => tellError(event.reason, false));
}

function forwardKeys(): void {
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || !event.isTrusted) return;
    if (event.key === "Escape") post({ key: "Escape" });
    else if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "k") {
      event.preventDefault();
      post({ key: "Mod+K" });
    }
  });
}

function forwardLinks(): void {
  const follow = (event: MouseEvent) => {
    if (event.defaultPrevented || !event.isTrusted) return;
    const link = event.composedPath().find((at): at is HTMLAnchorElement => at instanceof HTMLAnchorElement);
    if (!link?.href || link.getAttribute("href")?.startsWith("#")) return;
    event.preventDefault();
    if (link.target === "_blank" || event.ctrlKey || event.metaKey || event.button === 1) post({ open: link.href });
  };
  addEventListener("click", follow);
  addEventListener("auxclick", (event) => {
    if (event.button === 1) follow(event);
  });
}

function wear(theme: "light" | "dark"): void {
  document.documentElement.style.colorScheme = theme;
  document.documentElement.dataset.theme = theme;
}

function whenParsed(): Promise<void> {
  if (document.readyState !== "loading") return Promise.resolve();
  return new Promise((resolve) => document.addEventListener("DOMContentLoaded", () => resolve(), { once: true }));
}

async function run(code: string, title: string): Promise<void> {
  await whenParsed();
  document.title = title;
  const session = new RpcSession(transport);
  Object.assign(globalThis, {
    gadget: session.getRemoteMain(),
    RpcTarget,
    RpcStub,
    newMessagePortRpcSession,
  });
  // A gadget that draws something and then waits is as ready as one that ended.
  let told = false;
  const ready = () => {
    if (told) return;
    told = true;
    drawn.disconnect();
    post({ ready: true });
  };
  const drawn = new MutationObserver(() => {
    if ([...document.body.children].some((child) => !/^(SCRIPT|STYLE|LINK)$/.test(child.tagName))) ready();
  });
  drawn.observe(document.body, { childList: true });
  try {
    await import(/* @vite-ignore */ `data:text/javascript;charset=utf-8,${encodeURIComponent(`${code}\n//# sourceURL=client.js`)}`);
    ready();
  } catch (error) {
    drawn.disconnect();
    tellError(error, true);
  }
}

forwardConsole();
forwardErrors();
forwardKeys();
forwardSaves((file) => post({ save: file }));
forwardLinks();

let started = false;
port.onmessage = ({ data }: MessageEvent) => {
  if (typeof data === "string" || data === null) return transport.take(data);
  if (typeof data !== "object") return;
  if (data.theme === "light" || data.theme === "dark") wear(data.theme);
  if (data.start && !started) {
    started = true;
    void run(String(data.start.code), String(data.start.title));
  }
};
parent.postMessage({ gadgetRpc: 1, encoding: "string" }, "*", [channel.port2]);
