import type { Problem } from "./api.gen";
import { KernelError } from "./problem";

/** What the program's own window does for the page. In a browser there is none: the browser does it. */
export interface Desktop {
  /** Asks the person where the file is to go, and puts it there. False: they said no. Rejects with KernelError. */
  save(name: string, blob: Blob): Promise<boolean>;
  /** Opens an address in the person's browser or mail program. Rejects with KernelError. */
  open(address: URL): Promise<void>;
  /** Makes the page larger (above 0), smaller (below), or as large as usual (0). It is remembered. */
  zoom(by: number): void;
  /** Lets the window fill the screen, or no longer. */
  fullScreen(): void;
}

/** The bound methods of app.Desktop, and the way its handler is reached. */
export interface DesktopSurroundings {
  ChooseFile(name: string, size: number): Promise<{ ticket?: string; problem?: Problem }>;
  OpenAddress(address: string): Promise<Problem | null>;
  Zoom(by: number): Promise<void>;
  FullScreen(): Promise<void>;
  fetch(path: string, init: RequestInit): Promise<Response>;
}

export function desktopOf(around: DesktopSurroundings): Desktop {
  return {
    async save(name, blob) {
      const { ticket, problem } = await around.ChooseFile(name, blob.size);
      if (problem) throw new KernelError(problem);
      if (!ticket) return false;
      // The window's web engine sends a Blob to the program without its bytes.
      const body = await blob.arrayBuffer().catch(() => {
        throw new KernelError(gone(name));
      });
      const answer = await around.fetch("/save", { method: "POST", headers: { "X-Toolshed-Secret": ticket }, body });
      if (!answer.ok) throw new KernelError(((await answer.json().catch(() => undefined)) as Problem | undefined) ?? gone(name));
      return true;
    },
    async open(address) {
      const problem = await around.OpenAddress(address.href);
      if (problem) throw new KernelError(problem);
    },
    zoom: (by) => void around.Zoom(by),
    fullScreen: () => void around.FullScreen(),
  };
}

const gone = (name: string): Problem => ({
  kind: "save",
  what: `“${name}” was not saved.`,
  why: "The gadget that gave it is not there any more, or took it back.",
  todo: "Ask the gadget for it again.",
});

/** The desktop around a page that runs in the program's own window, else undefined. */
export function desktop(): Desktop | undefined {
  const { go } = window as unknown as { go?: { app?: { Desktop?: Omit<DesktopSurroundings, "fetch"> } } };
  const bound = go?.app?.Desktop;
  return bound && desktopOf({ ...bound, fetch: (path, init) => fetch(path, init) });
}
