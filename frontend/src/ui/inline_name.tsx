import { useEffect, useRef, useState } from "react";

const longest = 120;

/** A name that turns into a text field: Enter or leaving keeps, Escape gives up. */
export function InlineName({
  name,
  label,
  editing,
  onDone,
  className = "",
}: {
  name: string;
  label: string;
  editing: boolean;
  /** The new name, or undefined when nothing is to change. */
  onDone: (name: string | undefined) => void;
  className?: string;
}) {
  if (!editing) return <span className={`truncate ${className}`}>{name}</span>;
  return <Field name={name} label={label} onDone={onDone} className={className} />;
}

function Field({ name, label, onDone, className }: Omit<Parameters<typeof InlineName>[0], "editing">) {
  const [text, setText] = useState(name);
  const field = useRef<HTMLInputElement>(null);
  const over = useRef(false);
  useEffect(() => {
    // The menu that asked for this gives its focus back first.
    const frame = requestAnimationFrame(() => field.current?.select());
    return () => cancelAnimationFrame(frame);
  }, []);
  const finish = (keep: boolean) => {
    if (over.current) return;
    over.current = true;
    const wanted = text.trim();
    onDone(keep && wanted && wanted !== name ? wanted : undefined);
  };
  return (
    <input
      ref={field}
      autoFocus
      aria-label={label}
      value={text}
      maxLength={longest}
      spellCheck={false}
      onChange={(event) => setText(event.target.value)}
      onBlur={() => finish(true)}
      onClick={(event) => event.stopPropagation()}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.key === "Enter") finish(true);
        if (event.key === "Escape") finish(false);
      }}
      className={`min-w-0 rounded-control bg-surface px-1.5 -mx-1.5 outline-2 outline-accent ${className}`}
      style={{ width: `${Math.min(40, Math.max(10, text.length + 2))}ch` }}
    />
  );
}
