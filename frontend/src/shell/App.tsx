import { Tooltip } from "@base-ui/react/tooltip";
import { KeyIcon } from "@phosphor-icons/react";
import { useConnection, useKernel, useKernelState } from "../kernel/react";
import { disconnected } from "../kernel/problem";
import { CardSkeletons } from "../ui/blueprint_cards";
import { Button } from "../ui/button";
import { useLate } from "../ui/late";
import { ProblemPanel } from "../ui/problem_panel";
import { Bar, Spinner, Waiting } from "../ui/waiting";
import { Shell } from "./Shell";

const lostAfter = 600;

/** What the page shows for each state of its line to the kernel. */
export function App() {
  const kernel = useKernel();
  const connection = useConnection();
  const state = useKernelState();
  const lost = useLate(connection.phase === "lost" || (connection.phase === "connecting" && !!state), lostAfter);
  if (connection.phase === "denied") {
    return (
      <main className="h-full">
        <ProblemPanel alone problem={connection.problem} icon={KeyIcon}>
          <Button onClick={() => kernel.retry()}>
            Try again
          </Button>
        </ProblemPanel>
      </main>
    );
  }
  if (!state) return lost ? <NeverThere /> : <Opening />;
  return (
    <Tooltip.Provider delay={500}>
      <div className="flex h-full flex-col">
        {lost && <LostBar onRetry={() => kernel.retry()} />}
        <div className="relative min-h-0 grow">
          <Shell state={state} />
        </div>
      </div>
    </Tooltip.Provider>
  );
}

function LostBar({ onRetry }: { onRetry(): void }) {
  return (
    <div role="status" className="rises flex h-10 shrink-0 items-center gap-2.5 border-b border-line bg-surface pr-2 pl-4">
      <Spinner />
      <p className="min-w-0 grow truncate">
        <span className="font-medium">Toolshed is not answering.</span> <span className="text-muted">Trying again; what you stored is safe.</span>
      </p>
      <Button look="quiet" onClick={onRetry}>
        Try now
      </Button>
    </div>
  );
}

function NeverThere() {
  const kernel = useKernel();
  return (
    <main className="h-full">
      <ProblemPanel alone problem={disconnected}>
        <Button look="primary" onClick={() => kernel.retry()}>
          Try now
        </Button>
      </ProblemPanel>
    </main>
  );
}

function Opening() {
  return (
    <main className="h-full">
      <Waiting what="Opening your workspaces…">
        <div aria-hidden className="flex h-full">
          <div className="w-60 space-y-3 border-r border-line p-4">
            <Bar className="h-6 w-28" />
            <Bar className="h-8" />
            {[36, 28, 32, 24].map((w) => (
              <Bar key={w} className="h-4" />
            ))}
          </div>
          <div className="mx-auto w-full max-w-[960px] grow px-10 pt-14">
            <Bar className="mb-3 h-9 w-96" />
            <Bar className="mb-8 h-5 w-120" />
            <CardSkeletons count={4} />
          </div>
        </div>
      </Waiting>
    </main>
  );
}
