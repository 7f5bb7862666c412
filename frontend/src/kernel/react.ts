import { createContext, useContext, useSyncExternalStore } from "react";
import type { State } from "./api.gen";
import type { Connection } from "./connection";
import type { Kernel } from "./session";

export const KernelContext = createContext<Kernel | null>(null);

export function useKernel(): Kernel {
  const kernel = useContext(KernelContext);
  if (!kernel) throw new Error("no kernel around this component");
  return kernel;
}

export function useConnection(): Connection {
  const kernel = useKernel();
  return useSyncExternalStore(
    (changed) => kernel.subscribe(changed),
    () => kernel.connection(),
  );
}

export function useKernelState(): State | undefined {
  const kernel = useKernel();
  return useSyncExternalStore(
    (changed) => kernel.subscribe(changed),
    () => kernel.state(),
  );
}
