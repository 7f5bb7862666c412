import { CheckIcon, CopyIcon, ProhibitIcon, XIcon } from "@phosphor-icons/react";
import { useEffect, useLayoutEffect, useRef, useState, type PointerEvent } from "react";
import type { ConsoleLine } from "../../kernel/api.gen";
import { useConnection } from "../../kernel/react";
import { Button, IconButton } from "../../ui/button";
import { skeletonAfter, useLate } from "../../ui/late";
import { copyText } from "../../ui/problem_panel";
import { Bar } from "../../ui/waiting";
import { asText, clock, filter, type Level, type Log, type Source } from "./lines";
import { useConsole } from "./use_console";

/** What a gadget printed: its server half and its views. */
export function ConsolePanel({
  workspace,
  gadget,
  height,
  onHeight,
  onClose,
}: {
  workspace: string;
  gadget: string;
  height: number;
  onHeight(height: number): void;
  onClose(): void;
}) {
  const feed = useConsole(workspace, gadget);
  const [level, setLevel] = useState<Level>("all");
  const [source, setSource] = useState<Source>("all");
  const [text, setText] = useState("");
  const shown = filter(feed.log, level, source, text);
  return (
    <section aria-label="Console" className="appears relative flex shrink-0 flex-col border-t border-line bg-page" style={{ height, maxHeight: "70%" }}>
      <Grip height={height} onHeight={onHeight} />
      <div className="flex h-10 shrink-0 items-center gap-2 border-b border-line pr-2 pl-4">
        <h2 className="text-13 font-bold max-[800px]:sr-only">Console</h2>
        <input
          type="search"
          aria-label="Filter lines"
          placeholder="Filter"
          value={text}
          spellCheck={false}
          onChange={(event) => setText(event.target.value)}
          className="ease ml-2 h-7 w-40 min-w-16 shrink rounded-control border border-line bg-surface px-2 text-13 focus:border-edge"
        />
        <Choice<Level> label="Level" value={level} onChange={setLevel} options={{ all: "All", warnings: "Warnings", errors: "Errors" }} />
        <Choice<Source> label="Source" value={source} onChange={setSource} options={{ all: "Both", server: "Server", view: "View" }} />
        <span className="grow" />
        <CopyAll lines={shown} />
        <IconButton label="Clear" icon={ProhibitIcon} disabled={feed.log.lines.length === 0} onClick={feed.clear} />
        <IconButton label="Hide console" icon={XIcon} onClick={onClose} />
      </div>
      <Lines log={feed.log} shown={shown} loading={feed.loading} problem={feed.problem?.what} />
    </section>
  );
}

function CopyAll({ lines }: { lines: ConsoleLine[] }) {
  const [copied, setCopied] = useState(false);
  const copy = () => {
    void copyText(asText(lines)).then(() => setCopied(true));
    setTimeout(() => setCopied(false), 1_500);
  };
  return <IconButton label={copied ? "Copied" : "Copy lines"} icon={copied ? CheckIcon : CopyIcon} disabled={lines.length === 0} onClick={copy} />;
}

function Choice<T extends string>({ label, value, options, onChange }: { label: string; value: T; options: Record<T, string>; onChange(value: T): void }) {
  return (
    <div role="radiogroup" aria-label={label} className="flex shrink-0 rounded-control bg-hover p-0.5">
      {(Object.keys(options) as T[]).map((option) => (
        <label
          key={option}
          className={`ease flex h-6 items-center rounded-[4px] px-2 text-12 has-focus-visible:outline-2 has-focus-visible:outline-accent ${option === value ? "bg-surface font-medium text-ink shadow-[0_0_0_1px_var(--line)]" : "text-muted hover:text-ink"}`}
        >
          <input type="radio" name={label} className="sr-only" checked={option === value} onChange={() => onChange(option)} />
          {options[option]}
        </label>
      ))}
    </div>
  );
}

const smallest = 120;

function Grip({ height, onHeight }: { height: number; onHeight(height: number): void }) {
  const from = useRef<{ y: number; height: number }>(undefined);
  const clamp = (wanted: number) => onHeight(Math.round(Math.min(Math.max(smallest, wanted), innerHeight * 0.7)));
  const down = (event: PointerEvent<HTMLDivElement>) => {
    event.currentTarget.setPointerCapture(event.pointerId);
    from.current = { y: event.clientY, height };
  };
  return (
    <div
      role="separator"
      aria-orientation="horizontal"
      aria-label="Height of the console"
      aria-valuenow={height}
      aria-valuemin={smallest}
      aria-valuemax={800}
      tabIndex={0}
      onPointerDown={down}
      onPointerMove={(event) => from.current && clamp(from.current.height + from.current.y - event.clientY)}
      onPointerUp={() => (from.current = undefined)}
      onPointerCancel={() => (from.current = undefined)}
      onKeyDown={(event) => {
        const step = { ArrowUp: 20, ArrowDown: -20 }[event.key];
        if (!step) return;
        event.preventDefault();
        clamp(height + step);
      }}
      className="absolute inset-x-0 -top-1 z-10 h-2 cursor-row-resize"
    />
  );
}

function Lines({ log, shown, loading, problem }: { log: Log; shown: Log["lines"]; loading: boolean; problem?: string }) {
  const box = useRef<HTMLDivElement>(null);
  const top = useRef(0);
  const [follows, setFollows] = useState(true);
  const skeleton = useLate(loading && log.lines.length === 0, skeletonAfter);
  const online = useConnection().phase === "open";
  const last = shown.at(-1)?.key;
  useLayoutEffect(() => {
    if (follows && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [follows, last, shown.length]);
  useEffect(() => {
    if (!box.current) return;
    const watch = new ResizeObserver(() => follows && box.current?.scrollTo(0, box.current.scrollHeight));
    watch.observe(box.current);
    return () => watch.disconnect();
  }, [follows]);
  const empty = !online
    ? "The console goes on when Toolshed answers again."
    : (problem ?? (log.lines.length > 0 ? "No line matches." : "Nothing was printed yet. console.log in either half of the gadget appears here."));
  return (
    <div className="relative min-h-0 grow">
      <div
        ref={box}
        tabIndex={0}
        role="log"
        aria-label="Console lines"
        onScroll={({ currentTarget: at }) => {
          const atEnd = at.scrollHeight - at.scrollTop - at.clientHeight < 8;
          // Only the person scrolls up; new lines and a new size do not.
          if (atEnd || at.scrollTop < top.current) setFollows(atEnd);
          top.current = at.scrollTop;
        }}
        className="h-full overflow-y-auto py-1 font-mono text-12 -outline-offset-2"
      >
        {log.dropped > 0 && <p className="px-4 py-1 text-muted">{log.dropped.toLocaleString("en")} older lines are not shown.</p>}
        {shown.map((line) => (
          <Line key={line.key} line={line} />
        ))}
        {shown.length === 0 && !loading && <p className="px-4 py-2 font-sans text-13 text-muted">{empty}</p>}
        {skeleton && (
          <div className="space-y-2 px-4 py-2">
            <Bar className="h-3 w-72" />
            <Bar className="h-3 w-96" />
          </div>
        )}
      </div>
      {!follows && shown.length > 0 && (
        <div className="absolute right-4 bottom-3">
          <Button className="rises shadow-float" onClick={() => setFollows(true)}>
            Go to the end
          </Button>
        </div>
      )}
    </div>
  );
}

const tones: Partial<Record<ConsoleLine["level"], string>> = {
  debug: "text-muted",
  warn: "text-wait",
  error: "text-stop",
};

function Line({ line }: { line: ConsoleLine }) {
  const loud = line.level === "error" || line.level === "warn";
  return (
    <div data-level={line.level} className="flex gap-3 px-4 py-0.5 hover:bg-hover" data-selectable>
      <span className="shrink-0 text-muted tabular-nums">{clock(line.time)}</span>
      <span className="w-11 shrink-0 text-muted">{line.source}</span>
      <span className={`min-w-0 grow break-words whitespace-pre-wrap ${tones[line.level] ?? ""}`}>
        {loud && <span className="sr-only">{line.level}: </span>}
        {line.text}
      </span>
    </div>
  );
}
