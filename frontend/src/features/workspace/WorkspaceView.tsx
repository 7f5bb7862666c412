import { ArrowsInSimpleIcon, DotsThreeIcon, TerminalWindowIcon, XIcon } from "@phosphor-icons/react";
import type { ReactNode } from "react";
import type { Gadget, Problem, Workspace } from "../../kernel/api.gen";
import { BlueprintCards } from "../../ui/blueprint_cards";
import { Button, CommandButton, IconButton, Tip } from "../../ui/button";
import type { Command } from "../../ui/command";
import { gadgetIcon } from "../../ui/gadget_icon";
import { InlineName } from "../../ui/inline_name";
import { useLate } from "../../ui/late";
import { CommandMenu } from "../../ui/menu";
import { ProblemPanel } from "../../ui/problem_panel";
import type { Blueprint } from "../../kernel/api.gen";

export interface WorkspaceViewProps {
  workspace: Workspace;
  gadget?: Gadget;
  beside?: Gadget;
  full: boolean;
  renaming: boolean;
  onRename(): void;
  onRenamed(name: string | undefined): void;
  onLeaveFull(): void;
  onCloseFirst(): void;
  onCloseSecond(): void;
  onShowConsole(): void;
  /** Shown before the title when the sidebar is hidden. */
  lead?: ReactNode;
  buttons: (Command | undefined)[];
  menu: (Command | "-")[];
  blueprints: Blueprint[];
  making?: string;
  online: boolean;
  onMake(blueprint: string): void;
  frame(gadget: Gadget, place: "first" | "second"): ReactNode;
  console?: ReactNode;
}

/** One workspace: the gadget fills it; a second view stands beside; the console slides in below. */
export function WorkspaceView(props: WorkspaceViewProps) {
  const { workspace, gadget, beside, full } = props;
  const problem = workspace.problem;
  return (
    <div className="relative flex h-full min-w-0 flex-col">
      {!full && <Header {...props} />}
      {problem ? (
        <ProblemPanel problem={problem} />
      ) : gadget ? (
        <div className="flex min-h-0 grow">
          <Pane gadget={gadget} split={!!beside && !full} onClose={props.onCloseFirst} {...props}>
            {gadget.headless ? <Headless gadget={gadget} onShowConsole={props.onShowConsole} /> : props.frame(gadget, "first")}
          </Pane>
          {beside && (
            <Pane key="second" gadget={beside} split={!full} second onClose={props.onCloseSecond} {...props}>
              {beside.headless ? <Headless gadget={beside} onShowConsole={props.onShowConsole} /> : props.frame(beside, "second")}
            </Pane>
          )}
        </div>
      ) : (
        <Empty {...props} />
      )}
      {!full && gadget && props.console}
      {full && <LeaveFull onLeave={props.onLeaveFull} />}
    </div>
  );
}

/** Shown for a moment; then to who points at the upper edge or comes by keyboard, so that it covers nothing of the gadget. */
function LeaveFull({ onLeave }: { onLeave(): void }) {
  const settled = useLate(true, 2_500);
  return (
    <div className="group absolute top-0 left-1/2 h-1.5 w-60 -translate-x-1/2">
      <div
        className={`ease absolute top-1 left-1/2 -translate-x-1/2 group-focus-within:opacity-100 group-hover:opacity-100 ${settled ? "pointer-events-none opacity-0 group-hover:pointer-events-auto" : ""}`}
      >
        <Button icon={ArrowsInSimpleIcon} onClick={onLeave} className="rises shadow-float">
          Leave full screen <kbd className="font-sans text-12 text-muted">Esc</kbd>
        </Button>
      </div>
    </div>
  );
}

function Header({ workspace, gadget, renaming, onRename, onRenamed, lead, buttons, menu }: WorkspaceViewProps) {
  const title = gadget?.title ?? workspace.title;
  const within = gadget && (workspace.gadgets.length > 1 || workspace.title !== gadget.title) ? workspace.title : undefined;
  const status = gadget && statusWords(gadget);
  return (
    <header className="flex h-12 shrink-0 items-center gap-2 border-b border-line bg-page pr-2 pl-4">
      {lead}
      {within && (
        <>
          <span className="max-w-40 shrink truncate text-muted">{within}</span>
          <span aria-hidden className="text-muted">
            /
          </span>
        </>
      )}
      <h1 className="flex min-w-0 items-center text-15 font-bold">
        {renaming ? (
          <InlineName name={title} label="New name" editing onDone={onRenamed} />
        ) : (
          <Tip text="Rename" keys="F2">
            <button type="button" onClick={onRename} className="ease -mx-1.5 min-w-0 truncate rounded-control px-1.5 hover:bg-hover">
              {title}
            </button>
          </Tip>
        )}
      </h1>
      {status && <span className="shrink-0 pl-1 text-12 text-muted">{status}</span>}
      <span className="grow" />
      {buttons.map((command) => command && <CommandButton key={command.id} command={command} />)}
      <CommandMenu
        items={menu}
        label="More"
        trigger={
          <button
            type="button"
            className="ease flex size-8 items-center justify-center rounded-control text-muted hover:bg-hover hover:text-ink data-popup-open:bg-selected data-popup-open:text-ink"
          >
            <DotsThreeIcon size={20} weight="bold" aria-hidden />
          </button>
        }
      />
    </header>
  );
}

function statusWords(gadget: Gadget): string {
  if (gadget.status === "stopped") return "Stopped";
  if (gadget.status === "starting") return "Starting…";
  return gadget.views > 1 ? `${gadget.views} views open` : "";
}

function Pane({ gadget, split, second, onClose, children }: { gadget: Gadget; split: boolean; second?: boolean; onClose(): void; children: ReactNode }) {
  const Glyph = gadgetIcon(gadget.blueprint);
  return (
    <section
      aria-label={second ? `${gadget.title}, second view` : gadget.title}
      className={`flex min-w-0 flex-1 flex-col ${second ? "border-l border-line" : ""}`}
    >
      {split && (
        <div className="flex h-8 shrink-0 items-center gap-2 border-b border-line bg-page pr-1.5 pl-4 text-12 text-muted">
          <Glyph size={14} aria-hidden />
          <span className="min-w-0 grow truncate">{gadget.title}</span>
          <IconButton small icon={XIcon} label={second ? "Close second view" : "Close first view"} onClick={onClose} />
        </div>
      )}
      <div className="min-h-0 grow">{children}</div>
    </section>
  );
}

function Headless({ gadget, onShowConsole }: { gadget: Gadget; onShowConsole(): void }) {
  if (gadget.problem) return <TroubledHeadless problem={gadget.problem} onShowConsole={onShowConsole} />;
  const Glyph = gadgetIcon(gadget.blueprint);
  return (
    <div className="flex h-full items-center justify-center p-6">
      <div className="max-w-[400px]">
        <Glyph size={32} weight="light" aria-hidden className="text-muted" />
        <h2 className="mt-3 text-18 font-bold">“{gadget.title}” works without a view.</h2>
        <p className="mt-1.5 text-muted">It has no client.js. Other gadgets and the command line call it; what it prints stands in the console.</p>
        <Button className="mt-5" icon={TerminalWindowIcon} onClick={onShowConsole}>
          Show console
        </Button>
      </div>
    </div>
  );
}

function TroubledHeadless({ problem, onShowConsole }: { problem: Problem; onShowConsole(): void }) {
  return (
    <ProblemPanel problem={problem}>
      <Button icon={TerminalWindowIcon} onClick={onShowConsole}>
        Show console
      </Button>
    </ProblemPanel>
  );
}

function Empty({ workspace, blueprints, making, online, onMake }: WorkspaceViewProps) {
  return (
    <div className="grow overflow-y-auto">
      <div className="mx-auto max-w-[800px] px-8 py-12">
        <h2 className="text-18 font-bold">“{workspace.title}” is empty.</h2>
        <p className="mt-1 mb-6 text-muted">Add a gadget from a blueprint.</p>
        <BlueprintCards blueprints={blueprints} making={making} online={online} onMake={onMake} />
      </div>
    </div>
  );
}
