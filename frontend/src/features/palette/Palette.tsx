import { Dialog } from "@base-ui/react/dialog";
import { MagnifyingGlassIcon } from "@phosphor-icons/react";
import { useEffect, useId, useMemo, useRef, useState, type KeyboardEvent } from "react";
import { search, type Command } from "../../ui/command";
import { keyLabel } from "../../ui/keys";

const most = 60;

/** Finds and runs any command, workspace or gadget. */
export function Palette({ open, commands, onClose }: { open: boolean; commands: Command[]; onClose(): void }) {
  const field = useRef<HTMLInputElement>(null);
  return (
    <Dialog.Root open={open} onOpenChange={(now) => !now && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="fixed inset-0 z-40 bg-veil transition-opacity duration-150 data-ending-style:opacity-0 data-starting-style:opacity-0" />
        <Dialog.Popup
          initialFocus={field}
          aria-label="Search"
          className="floats fixed top-[14vh] left-1/2 z-50 flex max-h-[60vh] w-[560px] max-w-[calc(100vw-32px)] -translate-x-1/2 flex-col overflow-hidden rounded-card border border-line bg-surface shadow-float outline-none"
        >
          <Finder commands={commands} field={field} onClose={onClose} />
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

function Finder({ commands, field, onClose }: { commands: Command[]; field: React.RefObject<HTMLInputElement | null>; onClose(): void }) {
  const [query, setQuery] = useState("");
  const [at, setAt] = useState(0);
  const list = useRef<HTMLUListElement>(null);
  const id = useId();
  const found = useMemo(() => search(commands, query).slice(0, most), [commands, query]);
  const chosen = Math.min(at, found.length - 1);
  useEffect(() => {
    list.current?.children[chosen]?.scrollIntoView({ block: "nearest" });
  }, [chosen]);
  const run = (command: Command | undefined) => {
    if (!command) return;
    onClose();
    command.run();
  };
  const keyDown = (event: KeyboardEvent) => {
    const last = found.length - 1;
    const to = { ArrowDown: chosen >= last ? 0 : chosen + 1, ArrowUp: chosen <= 0 ? last : chosen - 1, PageDown: Math.min(last, chosen + 8), PageUp: Math.max(0, chosen - 8) }[event.key];
    if (to !== undefined) setAt(to);
    else if (event.key === "Enter" && !event.nativeEvent.isComposing) run(found[chosen]);
    else return;
    event.preventDefault();
  };
  return (
    <>
      <div className="flex h-12 shrink-0 items-center gap-2.5 border-b border-line px-4">
        <MagnifyingGlassIcon size={18} aria-hidden className="shrink-0 text-muted" />
        <input
          ref={field}
          role="combobox"
          aria-expanded="true"
          aria-autocomplete="list"
          aria-controls={`${id}-list`}
          aria-activedescendant={found[chosen] ? `${id}-${chosen}` : undefined}
          aria-label="Search commands, workspaces and gadgets"
          placeholder="Search commands, workspaces and gadgets"
          value={query}
          spellCheck={false}
          onChange={(event) => {
            setQuery(event.target.value);
            setAt(0);
          }}
          onKeyDown={keyDown}
          className="h-full min-w-0 grow bg-transparent text-15 outline-none"
        />
      </div>
      <ul ref={list} id={`${id}-list`} role="listbox" aria-label="Found" className="min-h-0 overflow-y-auto p-1.5">
        {found.map((command, index) => (
          <Option
            key={command.id}
            id={`${id}-${index}`}
            command={command}
            chosen={index === chosen}
            onPoint={() => setAt(index)}
            onRun={() => run(command)}
          />
        ))}
      </ul>
      {found.length === 0 && (
        <p role="status" className="px-4 pb-6 text-center text-13 text-muted">
          Nothing is called “{query.trim()}”.
        </p>
      )}
    </>
  );
}

function Option({ id, command, chosen, onPoint, onRun }: { id: string; command: Command; chosen: boolean; onPoint(): void; onRun(): void }) {
  const Glyph = command.icon;
  return (
    <li
      id={id}
      role="option"
      aria-selected={chosen}
      data-command={command.id}
      onMouseMove={onPoint}
      onClick={onRun}
      className={`flex h-9 items-center gap-3 rounded-control px-2.5 ${chosen ? "bg-selected" : ""}`}
    >
      <Glyph size={16} aria-hidden className={`shrink-0 ${command.danger ? "text-stop" : chosen ? "text-accent" : "text-muted"}`} />
      <span className="shrink-0 truncate">{command.label}</span>
      <span className="min-w-0 grow truncate text-12 text-muted">{command.id.startsWith("go.") ? command.hint : ""}</span>
      {command.keys && <kbd className="font-sans text-12 text-muted">{keyLabel(command.keys)}</kbd>}
    </li>
  );
}
