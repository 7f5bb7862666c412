import { CircleNotchIcon } from "@phosphor-icons/react";
import { skeletonAfter, useLate, wordsAfter } from "./late";

export function Bar({ className = "" }: { className?: string }) {
  return <div className={`breathes rounded-control bg-selected ${className}`} />;
}

export function Spinner({ size = 16 }: { size?: number }) {
  return <CircleNotchIcon size={size} aria-hidden className="turns shrink-0 text-muted" />;
}

/** Nothing for 150 ms, then a skeleton, then (2 s) also what is happening. */
export function Waiting({ what, children }: { what: string; children?: React.ReactNode }) {
  const shown = useLate(true, skeletonAfter);
  const slow = useLate(true, wordsAfter);
  return (
    <div className="relative h-full" aria-busy="true">
      {shown && <div className="appears h-full overflow-hidden">{children}</div>}
      <div role="status" className="pointer-events-none absolute inset-x-0 bottom-8 flex justify-center">
        {slow && (
          <span className="rises flex items-center gap-2 rounded-full border border-line bg-surface px-3 py-1.5 text-13 shadow-float">
            <Spinner />
            {what}
          </span>
        )}
      </div>
    </div>
  );
}
