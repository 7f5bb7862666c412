import { createRoot } from "react-dom/client";
import { KernelContext } from "./kernel/react";
import type { Kernel } from "./kernel/session";
import { App } from "./shell/App";

/** Puts the page on the screen, over whatever kernel it is given. */
export function show(kernel: Kernel): void {
  createRoot(document.getElementById("root")!).render(
    <KernelContext.Provider value={kernel}>
      <App />
    </KernelContext.Provider>,
  );
}
