import { Menu } from "@base-ui/react/menu";
import type { ReactElement } from "react";
import type { Command } from "./command";
import { floor } from "./floor";
import { keyLabel } from "./keys";

/** A button that opens a menu of commands. */
export function CommandMenu({
  items,
  label,
  trigger,
  align = "end",
}: {
  items: (Command | "-")[];
  label: string;
  trigger: ReactElement;
  align?: "start" | "end";
}) {
  return (
    <Menu.Root>
      <Menu.Trigger aria-label={label} render={trigger} />
      <Menu.Portal container={floor()}>
        <Menu.Positioner align={align} sideOffset={4} className="z-40 outline-none">
          <Menu.Popup className="floats min-w-52 origin-(--transform-origin) rounded-card border border-line bg-surface p-1 shadow-float outline-none">
            {items.map((item, index) =>
              item === "-" ? (
                <Menu.Separator key={`-${index}`} className="mx-2 my-1 h-px bg-line" />
              ) : (
                <Item key={item.id} command={item} />
              ),
            )}
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  );
}

function Item({ command }: { command: Command }) {
  const Glyph = command.icon;
  const tone = command.danger ? "text-stop" : "text-ink";
  return (
    <Menu.Item
      disabled={!command.enabled}
      onClick={command.run}
      data-command={command.id}
      className={`flex h-8 items-center gap-2.5 rounded-control px-2 text-13 outline-none data-disabled:opacity-45 data-highlighted:bg-hover ${tone}`}
    >
      <Glyph size={16} aria-hidden className={command.danger ? "" : "text-muted"} />
      <span className="grow">{command.label}</span>
      {command.keys && <kbd className="pl-6 font-sans text-12 text-muted">{keyLabel(command.keys)}</kbd>}
    </Menu.Item>
  );
}
