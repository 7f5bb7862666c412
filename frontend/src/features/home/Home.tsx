import { CaretRightIcon, FolderIcon } from "@phosphor-icons/react";
import { useEffect, useState } from "react";
import type { Blueprint, Workspace } from "../../kernel/api.gen";
import { sentence } from "../../kernel/problem";
import { ago } from "../../ui/ago";
import { gadgetIcon } from "../../ui/gadget_icon";
import { BlueprintCards } from "../../ui/blueprint_cards";

const shownRecent = 8;

/** What can be made, and what was open last. */
export function Home({
  blueprints,
  workspaces,
  making,
  online,
  onMake,
  onOpen,
}: {
  blueprints: Blueprint[];
  workspaces: Workspace[];
  /** The blueprint something is being made from right now. */
  making?: string;
  online: boolean;
  onMake(blueprint: string): void;
  onOpen(workspace: string): void;
}) {
  const recent = [...workspaces].sort((a, b) => b.opened - a.opened).slice(0, shownRecent);
  return (
    <div className="h-full overflow-y-auto">
      <div className="mx-auto max-w-[960px] px-10 pt-14 pb-16 max-[960px]:px-6 max-[960px]:pt-10">
        <h1 className="text-32 font-bold tracking-[-0.015em] text-balance">What do you want to make?</h1>
        <p className="mt-2 max-w-[56ch] text-15 text-muted">
          Start from a blueprint. It becomes your own small app, with its data on this computer; it works without an account and without the network.
        </p>
        <div className="mt-8">
          <BlueprintCards blueprints={blueprints} making={making} online={online} onMake={onMake} />
        </div>
        <section aria-labelledby="recent" className="mt-12">
          <h2 id="recent" className="text-15 font-bold">
            Recent workspaces
          </h2>
          {recent.length === 0 ? (
            <p className="mt-2 text-13 text-muted">Nothing here yet. What you make appears here and in the sidebar.</p>
          ) : (
            <Recent workspaces={recent} onOpen={onOpen} />
          )}
        </section>
      </div>
    </div>
  );
}

function Recent({ workspaces, onOpen }: { workspaces: Workspace[]; onOpen(workspace: string): void }) {
  const now = useNow();
  return (
    <ul className="mt-3 border-t border-line">
      {workspaces.map((workspace) => {
        const first = workspace.gadgets[0];
        const Glyph = workspace.gadgets.length === 1 && first ? gadgetIcon(first.blueprint) : FolderIcon;
        return (
          <li key={workspace.id} className="border-b border-line">
            <button
              type="button"
              onClick={() => onOpen(workspace.id)}
              className="group ease flex h-12 w-full items-center gap-3 px-2 text-left hover:bg-hover"
            >
              <Glyph size={18} aria-hidden className="shrink-0 text-muted" />
              <span className="min-w-0 truncate text-13 font-medium">{workspace.title}</span>
              <span className="min-w-0 grow truncate text-13 text-muted">{workspace.problem ? sentence(workspace.problem.what) : contents(workspace)}</span>
              <time dateTime={new Date(workspace.opened).toISOString()} className="shrink-0 text-12 text-muted tabular-nums">
                {ago(workspace.opened, now)}
              </time>
              <CaretRightIcon size={14} aria-hidden className="ease shrink-0 text-muted opacity-0 group-hover:opacity-100 group-focus-visible:opacity-100" />
            </button>
          </li>
        );
      })}
    </ul>
  );
}

function contents(workspace: Workspace): string {
  const titles = workspace.gadgets.map((g) => g.title);
  if (titles.length === 0) return "empty";
  if (titles.length === 1 && titles[0] === workspace.title) return "";
  return titles.join(", ");
}

function useNow(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 30_000);
    return () => clearInterval(timer);
  }, []);
  return now;
}
