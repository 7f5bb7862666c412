import { WarningCircleIcon } from "@phosphor-icons/react";
import type { Problem } from "../kernel/api.gen";
import { sentence } from "../kernel/problem";
import { Words } from "../ui/words";

/** Why something outside the page did not work, below the question that led to it. */
export function OutsideProblem({ problem }: { problem: Problem }) {
  return (
    <p role="alert" className="rises mt-3 flex gap-2 text-ink">
      <WarningCircleIcon size={16} aria-hidden className="mt-0.5 shrink-0 text-stop" />
      <span className="min-w-0 break-words">
        <span className="font-medium text-stop">
          <Words text={sentence(problem.what)} />
        </span>{" "}
        <Words text={sentence(problem.why)} /> <Words text={sentence(problem.todo)} />
      </span>
    </p>
  );
}
