import { CaretRightIcon, DotsThreeIcon, FolderIcon, type Icon } from "@phosphor-icons/react";
import type { KeyboardEvent, ReactNode } from "react";
import type { Gadget, Workspace } from "../../kernel/api.gen";
import { IconButton } from "../../ui/button";
import type { Command } from "../../ui/command";
import { gadgetIcon } from "../../ui/gadget_icon";
import { InlineName } from "../../ui/inline_name";
import { keyLabel } from "../../ui/keys";
import { Logo } from "../../ui/logo";
import { CommandMenu } from "../../ui/menu";

export interface SidebarProps {
  person: string;
  status: ReactNode;
  workspaces: Workspace[];
  folded: string[];
  current: { workspace?: string; gadget?: string };
  renaming?: { workspace: string; gadget?: string };
  search: Command;
  home: Command;
  hide: Command;
  onOpen(workspace: string, gadget?: string): void;
  onFold(workspace: string, folded: boolean): void;
  onRenamed(name: string | undefined): void;
  gadgetMenu(workspace: Workspace, gadget: Gadget): (Command | "-")[];
  workspaceMenu(workspace: Workspace): (Command | "-")[];
}

/** Search, home, the workspaces with their gadgets, and me at the foot. */
export function Sidebar(props: SidebarProps) {
  const { search, home, hide } = props;
  return (
    <aside aria-label="Sidebar" className="flex h-full w-60 shrink-0 flex-col border-r border-line bg-page max-[960px]:w-52">
      <div className="flex h-12 shrink-0 items-center gap-2 pr-2 pl-3">
        <Logo size={24} />
        <span className="grow text-15 font-bold">Toolshed</span>
        <IconButton label={hide.label} keys={hide.keys} icon={hide.icon} onClick={hide.run} />
      </div>
      <div className="px-2 pb-2">
        <button
          type="button"
          onClick={search.run}
          data-command={search.id}
          className="ease flex h-8 w-full items-center gap-2 rounded-control border border-line bg-surface px-2 text-muted hover:border-edge hover:text-ink"
        >
          <search.icon size={16} aria-hidden />
          <span className="grow text-left">{search.label}</span>
          <kbd className="font-sans text-12">{keyLabel(search.keys!)}</kbd>
        </button>
      </div>
      <nav aria-label="Places" className="min-h-0 grow overflow-y-auto px-2 pb-4" onKeyDown={moveFocus}>
        <Row icon={home.icon} name={home.label} current={!!home.on} onOpen={home.run} command={home.id} />
        <h2 className="mt-4 mb-1 px-2 text-12 font-medium text-muted">Workspaces</h2>
        {props.workspaces.length === 0 ? (
          <p className="px-2 py-1 text-12 text-muted">What you make appears here.</p>
        ) : (
          <ul>
            {props.workspaces.map((workspace) => (
              <WorkspaceRows key={workspace.id} workspace={workspace} {...props} />
            ))}
          </ul>
        )}
      </nav>
      <footer className="flex h-12 shrink-0 items-center gap-2.5 border-t border-line px-3">
        <span aria-hidden className="flex size-6 shrink-0 items-center justify-center rounded-full bg-ink text-12 font-bold text-page">
          {[...props.person.trim()][0]?.toUpperCase() ?? "·"}
        </span>
        <span className="min-w-0 grow truncate font-medium">{props.person}</span>
        <span className="shrink-0 text-12 text-muted">{props.status}</span>
      </footer>
    </aside>
  );
}

/** A workspace of one gadget of the same name is one row. */
function WorkspaceRows({ workspace, ...props }: SidebarProps & { workspace: Workspace }) {
  const { current, renaming } = props;
  const only = workspace.gadgets.length === 1 && workspace.gadgets[0]!.title === workspace.title ? workspace.gadgets[0] : undefined;
  const folded = props.folded.includes(workspace.id);
  const here = current.workspace === workspace.id;
  const nested = !only && workspace.gadgets.length > 0;
  const renames = renaming?.workspace === workspace.id && !renaming.gadget;
  return (
    <li>
      <Row
        icon={only ? gadgetIcon(only.blueprint) : FolderIcon}
        name={workspace.title}
        current={here && (!nested || folded)}
        troubled={!!workspace.problem || !!only?.problem}
        onOpen={() => props.onOpen(workspace.id, only?.id)}
        menu={only ? [...props.gadgetMenu(workspace, only), "-", ...props.workspaceMenu(workspace)] : props.workspaceMenu(workspace)}
        renaming={renames || (!!only && renaming?.gadget === only.id)}
        onRenamed={props.onRenamed}
        fold={nested ? { folded, set: (to) => props.onFold(workspace.id, to) } : undefined}
      />
      {nested && !folded && (
        <ul className="mb-1">
          {workspace.gadgets.map((gadget) => (
            <li key={gadget.id}>
              <Row
                inset
                icon={gadgetIcon(gadget.blueprint)}
                name={gadget.title}
                current={here && current.gadget === gadget.id}
                troubled={!!gadget.problem}
                onOpen={() => props.onOpen(workspace.id, gadget.id)}
                menu={props.gadgetMenu(workspace, gadget)}
                renaming={renaming?.gadget === gadget.id}
                onRenamed={props.onRenamed}
              />
            </li>
          ))}
        </ul>
      )}
    </li>
  );
}

function Row({
  icon: Glyph,
  name,
  current,
  inset,
  troubled,
  menu,
  renaming = false,
  fold,
  command,
  onOpen,
  onRenamed = () => {},
}: {
  icon: Icon;
  name: string;
  current: boolean;
  inset?: boolean;
  troubled?: boolean;
  menu?: (Command | "-")[];
  renaming?: boolean;
  fold?: { folded: boolean; set(folded: boolean): void };
  command?: string;
  onOpen(): void;
  onRenamed?(name: string | undefined): void;
}) {
  const tone = current ? "bg-selected text-ink" : "hover:bg-hover";
  const label = (
    <>
      <Glyph size={16} aria-hidden weight={current ? "fill" : "regular"} className={`shrink-0 ${current ? "text-accent" : "text-muted"}`} />
      <InlineName name={name} label="New name" editing={renaming} onDone={onRenamed} className={current ? "font-medium" : ""} />
      {troubled && <span role="img" aria-label="has a problem" className="size-1.5 shrink-0 rounded-full bg-stop" />}
    </>
  );
  const shape = `flex h-8 min-w-0 grow items-center gap-2 pr-1 text-left ${inset ? "pl-7" : "pl-2"}`;
  return (
    <div className={`group ease relative flex items-center rounded-control ${tone}`}>
      {renaming ? (
        <div className={shape}>{label}</div>
      ) : (
        <button
          type="button"
          data-row
          data-command={command}
          aria-current={current ? "page" : undefined}
          onClick={onOpen}
          onKeyDown={(event) => {
            if (!fold || (event.key !== "ArrowLeft" && event.key !== "ArrowRight")) return;
            event.preventDefault();
            fold.set(event.key === "ArrowLeft");
          }}
          className={`${shape} rounded-control`}
        >
          {label}
        </button>
      )}
      {menu && menu.length > 0 && !renaming && (
        <CommandMenu
          items={menu}
          label={`More for ${name}`}
          align="start"
          trigger={
            <button
              type="button"
              className="mr-1 hidden size-6 shrink-0 items-center justify-center rounded-control text-muted group-has-focus-visible:flex group-hover:flex hover:bg-hover hover:text-ink data-popup-open:flex"
            >
              <DotsThreeIcon size={16} weight="bold" aria-hidden />
            </button>
          }
        />
      )}
      {fold && !renaming && (
        <button
          type="button"
          aria-label={fold.folded ? `Unfold ${name}` : `Fold ${name}`}
          aria-expanded={!fold.folded}
          onClick={() => fold.set(!fold.folded)}
          className="mr-1 flex size-6 shrink-0 items-center justify-center rounded-control text-muted hover:bg-hover hover:text-ink"
        >
          <CaretRightIcon size={12} aria-hidden className={`ease ${fold.folded ? "" : "rotate-90"}`} />
        </button>
      )}
    </div>
  );
}

function moveFocus(event: KeyboardEvent<HTMLElement>): void {
  const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  if (step === 0 || !(event.target instanceof HTMLElement) || !event.target.matches("[data-row]")) return;
  const rows = [...event.currentTarget.querySelectorAll<HTMLElement>("[data-row]")];
  const to = rows[rows.indexOf(event.target) + step];
  if (!to) return;
  event.preventDefault();
  to.focus();
}
