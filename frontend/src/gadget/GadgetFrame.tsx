import { ArrowClockwiseIcon, StopCircleIcon, TerminalWindowIcon } from "@phosphor-icons/react";
import { useEffect, useRef, useState, useSyncExternalStore } from "react";
import type { Gadget, Problem } from "../kernel/api.gen";
import { sentence } from "../kernel/problem";
import { useConnection, useKernel } from "../kernel/react";
import { Button } from "../ui/button";
import { skeletonAfter, useLate, wordsAfter } from "../ui/late";
import { ProblemPanel } from "../ui/problem_panel";
import { Bar, Spinner } from "../ui/waiting";
import { ViewController } from "./controller";
import { LinkDialog } from "./LinkDialog";
import { SaveDialog } from "./SaveDialog";
import type { OfferedFile } from "./saving";
import type { ViewState } from "./view";

/** How long news of the focus may take from a frame's process, in milliseconds. */
const focusNews = 150;

interface Asks {
  onEscape(): void;
  onPalette(): void;
  onRestart(): void;
  onConsole(): void;
}

/** One view of a gadget: its frame, and every state in which there is none to see. */
export function GadgetFrame({
  workspace,
  gadget,
  restarts,
  ...asks
}: {
  workspace: string;
  gadget: Gadget;
  /** How often the person restarted it: a view that gave up tries again. */
  restarts: number;
} & Asks) {
  const [link, setLink] = useState<URL>();
  const [file, setFile] = useState<OfferedFile>();
  const frame = useRef<HTMLIFrameElement>(null);
  const latest = useRef({ gadget, asks });
  latest.current = { gadget, asks };
  const stopped = gadget.status === "stopped";
  // A stopped gadget is left alone until the person starts it again; then its view is a fresh one.
  const controller = useController(stopped ? undefined : workspace, gadget.id, latest, frame, setLink, setFile);
  useEffect(() => {
    if (restarts > 0) controller?.revive();
  }, [controller, restarts]);
  return (
    <div className="relative h-full min-w-0 grow overflow-hidden bg-surface">
      {stopped && <Stopped problem={gadget.problem} gadget={gadget.title} {...asks} />}
      {controller && !stopped && <Stage controller={controller} gadget={gadget} frame={frame} {...asks} />}
      <LinkDialog address={link} gadget={gadget.title} onClose={() => setLink(undefined)} />
      <SaveDialog file={file} gadget={gadget.title} onClose={() => setFile(undefined)} />
    </div>
  );
}

function useController(
  workspace: string | undefined,
  gadget: string,
  latest: React.RefObject<{ gadget: Gadget; asks: Asks }>,
  frame: React.RefObject<HTMLIFrameElement | null>,
  onLink: (address: URL) => void,
  onSave: (file: OfferedFile) => void,
): ViewController | undefined {
  const kernel = useKernel();
  const [controller, setController] = useState<ViewController>();
  useEffect(() => {
    if (workspace === undefined) return;
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const theme = () => (dark.matches ? ("dark" as const) : ("light" as const));
    // A frame may ask for something only while the person is in it. Its message
    // may be here before the news that the focus went there.
    const attended = (ask: () => void, last = false) => {
      if (document.activeElement === frame.current) ask();
      else if (!last) setTimeout(() => attended(ask, true), focusNews);
    };
    const made = new ViewController(
      kernel,
      { workspace, gadget, title: () => latest.current.gadget.title, theme },
      {
        escape: () => attended(() => latest.current.asks.onEscape()),
        palette: () => attended(() => latest.current.asks.onPalette()),
        link: (address) => attended(() => onLink(address)),
        save: (file) => attended(() => onSave(file)),
      },
    );
    const themed = () => made.wear(theme());
    dark.addEventListener("change", themed);
    setController(made);
    return () => {
      dark.removeEventListener("change", themed);
      made.dispose();
      setController(undefined);
    };
  }, [kernel, workspace, gadget, latest, frame, onLink, onSave]);
  return controller;
}

function Stage({
  controller,
  gadget,
  frame,
  ...asks
}: {
  controller: ViewController;
  gadget: Gadget;
  frame: React.RefObject<HTMLIFrameElement | null>;
} & Asks) {
  const state = useSyncExternalStore(controller.subscribe, () => controller.state());
  const online = useConnection().phase === "open";
  const shown = useShownFrame(state);
  if (state.at === "failed") return <Failed problem={state.problem} {...asks} />;
  const running = state.at === "running";
  const warning = running ? state.view.problem : undefined;
  const again = state.at !== "running" && (state.tries > 0 || state.at === "waiting");
  return (
    <div className="flex h-full flex-col">
      {warning && <Warned problem={warning} onConsole={asks.onConsole} />}
      <div className="relative min-h-0 grow">
        {shown && (
          <Document
            key={`${shown.channel} ${shown.frame}`}
            address={shown.frame}
            title={gadget.title}
            live={running}
            veiled={!running && state.at !== "loading"}
            frame={frame}
            controller={controller}
          />
        )}
        {!running && <Veil again={again} online={online} overFrame={!!shown && state.at !== "loading"} opening={state.at === "opening"} />}
      </div>
    </div>
  );
}

/** The frame stays on the screen, under a veil, while a lost view is opened again. */
function useShownFrame(state: ViewState) {
  const last = useRef<{ channel: number; frame: string }>(undefined);
  if (state.at === "loading" || state.at === "running") last.current = state.view;
  if (state.at === "failed" || (state.at === "opening" && state.tries === 0)) last.current = undefined;
  return last.current;
}

function Document({
  address,
  title,
  live,
  veiled,
  frame,
  controller,
}: {
  address: string;
  title: string;
  live: boolean;
  veiled: boolean;
  frame: React.RefObject<HTMLIFrameElement | null>;
  controller: ViewController;
}) {
  const loads = useRef(0);
  useEffect(() => {
    const hear = (event: MessageEvent) => {
      if (event.source !== frame.current?.contentWindow || event.origin !== "null") return;
      const hello = event.data as { gadgetRpc?: unknown; encoding?: unknown } | null;
      const port = event.ports[0];
      if (hello?.gadgetRpc !== 1 || hello.encoding !== "string" || event.ports.length !== 1 || !port) return;
      if (!controller.hello(port as never)) port.close();
    };
    addEventListener("message", hear);
    return () => removeEventListener("message", hear);
  }, [controller, frame]);
  return (
    <iframe
      ref={frame}
      title={title}
      src={address.startsWith("/") ? address : `/frame/${address}`}
      sandbox="allow-scripts"
      allow=""
      referrerPolicy="no-referrer"
      tabIndex={live ? 0 : -1}
      inert={!live}
      onLoad={() => ++loads.current > 1 && controller.strayed()}
      className={`ease block h-full w-full border-0 ${live || veiled ? "" : "opacity-0"}`}
    />
  );
}

function Veil({ again, online, overFrame, opening }: { again: boolean; online: boolean; overFrame: boolean; opening: boolean }) {
  const shown = useLate(true, skeletonAfter);
  const slow = useLate(true, wordsAfter);
  const words = again ? "Reconnecting…" : opening ? "Starting the gadget…" : "The gadget is loading its data…";
  return (
    <div aria-busy="true" className="absolute inset-0">
      {shown && (overFrame ? <div className="appears h-full bg-surface/70" /> : <Skeleton />)}
      <div role="status" className="absolute inset-x-0 top-1/2 flex justify-center">
        {online && (again ? shown : slow) && (
          <span className="rises flex items-center gap-2 rounded-full border border-line bg-surface py-1.5 pr-4 pl-3 text-13 shadow-float">
            <Spinner />
            {words}
          </span>
        )}
      </div>
    </div>
  );
}

function Skeleton() {
  return (
    <div aria-hidden className="appears h-full space-y-4 overflow-hidden bg-surface p-6">
      <Bar className="h-6 w-48" />
      <div className="flex gap-4">
        {[64, 40, 52].map((height) => (
          <div key={height} className="w-60 max-w-1/3 space-y-3">
            <Bar className="h-4 w-24" />
            <Bar className="h-16" />
            <Bar className="h-12" />
          </div>
        ))}
      </div>
    </div>
  );
}

function Failed({ problem, onRestart, onConsole }: { problem: Problem } & Asks) {
  return (
    <ProblemPanel problem={problem}>
      <RestartButton onRestart={onRestart} />
      <ConsoleButton onConsole={onConsole} />
    </ProblemPanel>
  );
}

function Stopped({ problem, gadget, onRestart, onConsole }: { problem?: Problem; gadget: string } & Asks) {
  const told = problem ?? {
    kind: "stopped",
    what: `“${gadget}” is stopped.`,
    why: "",
    todo: "Restart it to go on. What it stored is safe.",
  };
  return (
    <ProblemPanel problem={told} icon={StopCircleIcon}>
      <RestartButton onRestart={onRestart} />
      <ConsoleButton onConsole={onConsole} />
    </ProblemPanel>
  );
}

function Warned({ problem, onConsole }: { problem: Problem; onConsole(): void }) {
  return (
    <div role="alert" className="flex min-h-9 shrink-0 items-center gap-3 border-b border-line bg-page py-1 pr-2 pl-4">
      <p className="min-w-0 grow">
        <span className="font-medium text-stop">{sentence(problem.what)}</span> <span className="text-muted">{sentence(problem.todo)}</span>
      </p>
      <ConsoleButton onConsole={onConsole} />
    </div>
  );
}

function RestartButton({ onRestart }: { onRestart(): void }) {
  return (
    <Button look="primary" icon={ArrowClockwiseIcon} onClick={onRestart}>
      Restart gadget
    </Button>
  );
}

function ConsoleButton({ onConsole }: { onConsole(): void }) {
  return (
    <Button look="quiet" icon={TerminalWindowIcon} onClick={onConsole}>
      Show console
    </Button>
  );
}
