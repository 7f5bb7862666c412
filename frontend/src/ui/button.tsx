import { Tooltip } from "@base-ui/react/tooltip";
import type { Icon } from "@phosphor-icons/react";
import type { ComponentProps, ReactNode } from "react";
import type { Command } from "./command";
import { floor } from "./floor";
import { keyLabel } from "./keys";

const looks = {
  primary: "bg-accent text-on-accent hover:brightness-110 active:brightness-95",
  danger: "bg-stop text-on-stop hover:brightness-110 active:brightness-95",
  plain: "border border-edge bg-surface text-ink hover:bg-hover active:bg-selected",
  quiet: "text-ink hover:bg-hover active:bg-selected",
};

export function Button({
  look = "plain",
  icon: Glyph,
  children,
  className = "",
  ...rest
}: ComponentProps<"button"> & { look?: keyof typeof looks; icon?: Icon }) {
  return (
    <button
      type="button"
      className={`ease inline-flex h-8 items-center justify-center gap-1.5 rounded-control px-3 text-13 font-medium whitespace-nowrap disabled:opacity-50 aria-disabled:opacity-50 ${looks[look]} ${className}`}
      {...rest}
    >
      {Glyph && <Glyph size={16} aria-hidden />}
      {children}
    </button>
  );
}

export function Tip({ text, keys, children }: { text: string; keys?: string; children: React.ReactElement }) {
  return (
    <Tooltip.Root>
      <Tooltip.Trigger render={children} />
      <Tooltip.Portal container={floor()}>
        <Tooltip.Positioner sideOffset={6} className="z-50">
          <Tooltip.Popup className="floats flex items-center gap-2 rounded-control bg-ink px-2 py-1 text-12 text-page shadow-float">
            {text}
            {keys && <span className="opacity-70">{keyLabel(keys)}</span>}
          </Tooltip.Popup>
        </Tooltip.Positioner>
      </Tooltip.Portal>
    </Tooltip.Root>
  );
}

const iconButton =
  "ease inline-flex size-8 shrink-0 items-center justify-center rounded-control text-muted hover:bg-hover hover:text-ink active:bg-selected disabled:opacity-40 disabled:hover:bg-transparent aria-pressed:bg-selected aria-pressed:text-ink data-popup-open:bg-selected data-popup-open:text-ink";

export function IconButton({
  label,
  icon: Glyph,
  keys,
  small,
  className = "",
  ...rest
}: ComponentProps<"button"> & { label: string; icon: Icon; keys?: string; small?: boolean }) {
  return (
    <Tip text={label} keys={keys}>
      <button type="button" aria-label={label} className={`${iconButton} ${small ? "size-6" : ""} ${className}`} {...rest}>
        <Glyph size={small ? 14 : 18} aria-hidden />
      </button>
    </Tip>
  );
}

/** A button for a command, as an icon. */
export function CommandButton({ command }: { command: Command | undefined }): ReactNode {
  if (!command) return null;
  return (
    <IconButton
      label={command.label}
      icon={command.icon}
      keys={command.keys}
      disabled={!command.enabled}
      aria-pressed={command.on}
      data-command={command.id}
      onClick={command.run}
    />
  );
}
