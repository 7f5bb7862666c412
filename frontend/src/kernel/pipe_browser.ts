import type { OpenPipe, Pipe } from "./pipe";
import { Denied } from "./problem";

/** What the browser pipe needs of the page around it. */
export interface BrowserSurroundings {
  host: string;
  /** The one-time link of the address's fragment; gives it once and then "". */
  takeLink(): string;
  storage: Pick<Storage, "getItem" | "setItem" | "removeItem">;
  fetch(path: string, init: RequestInit): Promise<Response>;
  socket(address: string): WebSocket;
}

const tokenKey = "toolshed.token";
const tokenUnknown = 4401;
const openWithin = 10_000;

const needsLink = {
  kind: "denied",
  what: "This page needs a fresh link.",
  why: "Toolshed lets a browser in by a link that works once, and this page has none that is still good.",
  todo: "Open a fresh link from the terminal: `toolshed serve` prints one each time it starts.",
};

/** The pipe of `toolshed serve`: a WebSocket, let in by a token. */
export function browserPipe(around: BrowserSurroundings): OpenPipe {
  return async () => {
    const token = await tokenFor(around);
    return connect(around, token);
  };
}

async function tokenFor(around: BrowserSurroundings): Promise<string> {
  const link = around.takeLink();
  const kept = around.storage.getItem(tokenKey);
  if (!link) {
    if (!kept) throw new Denied(needsLink);
    return kept;
  }
  const answer = await around.fetch("/exchange", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ link }),
  });
  if (answer.ok) {
    const { token } = (await answer.json()) as { token: string };
    around.storage.setItem(tokenKey, token);
    return token;
  }
  // A link that was used already is no harm to a page that it let in before.
  if (kept) return kept;
  const told = (await answer.json().catch(() => ({}))) as Partial<typeof needsLink>;
  throw new Denied({
    kind: "denied",
    what: told.what || needsLink.what,
    why: told.why || needsLink.why,
    todo: told.todo || needsLink.todo,
  });
}

function connect(around: BrowserSurroundings, token: string): Promise<Pipe> {
  return new Promise((resolve, reject) => {
    const socket = around.socket(`ws://${around.host}/pipe`);
    const late = setTimeout(() => {
      reject(new Error("the kernel did not answer in time"));
      socket.close();
    }, openWithin);
    let opened = false;
    const pipe: Pipe = {
      send: (frame) => {
        if (socket.readyState === 1) socket.send(frame);
      },
      onFrame: () => {},
      onClose: () => {},
      close: () => socket.close(),
    };
    socket.onopen = () => socket.send(JSON.stringify({ token }));
    socket.onmessage = (event) => {
      if (typeof event.data !== "string") return socket.close();
      if (opened) return pipe.onFrame(event.data);
      clearTimeout(late);
      opened = true;
      if (event.data.replace(/\s/g, "") === '{"ok":true}') resolve(pipe);
      else socket.close();
    };
    socket.onclose = (event) => {
      clearTimeout(late);
      if (event.code === tokenUnknown) {
        around.storage.removeItem(tokenKey);
        reject(new Denied(needsLink));
      } else {
        reject(new Error("the connection closed"));
      }
      pipe.onClose(event.reason || "the connection closed");
    };
  });
}

/** The real page's surroundings. Reads the fragment and removes it from the address at once. */
export function realBrowser(): BrowserSurroundings {
  let link = location.hash.slice(1);
  if (link) history.replaceState(null, "", location.pathname + location.search);
  return {
    host: location.host,
    takeLink: () => {
      const taken = link;
      link = "";
      return taken;
    },
    storage: sessionStorage,
    fetch: (path, init) => fetch(path, init),
    socket: (address) => new WebSocket(address),
  };
}
