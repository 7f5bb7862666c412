import { useRef } from "react";
import type { Shell, State } from "../kernel/api.gen";
import { Confirm } from "../ui/dialog";
import type { Subject } from "./use_actions";

interface Loss {
  title: string;
  yes: string;
  lines: string[];
}

/** What goes when this is deleted, in words. */
export function loss(subject: Subject, state: State): Loss | undefined {
  const workspace = state.workspaces.find((w) => w.id === subject.workspace);
  if (!workspace) return undefined;
  if (!subject.gadget) {
    const names = workspace.gadgets.map((g) => `“${g.title}”`);
    const what =
      names.length === 0
        ? "It is empty; no data goes with it."
        : `Its ${names.length === 1 ? "gadget" : `${names.length} gadgets`} ${list(names)} and everything stored in ${names.length === 1 ? "it" : "them"} go with it.`;
    return { title: `Delete the workspace “${workspace.title}”?`, yes: "Delete workspace", lines: [what, "This cannot be undone."] };
  }
  const gadget = workspace.gadgets.find((g) => g.id === subject.gadget);
  if (!gadget) return undefined;
  const views = gadget.views > 0 ? ` ${gadget.views === 1 ? "Its open view closes" : `Its ${gadget.views} open views close`}.` : "";
  return {
    title: `Delete “${gadget.title}”?`,
    yes: "Delete gadget",
    lines: [`Everything stored in it goes with it, and so do changes made to its code.${views}`, "This cannot be undone."],
  };
}

function list(names: string[]): string {
  const shown = names.length > 6 ? [...names.slice(0, 5), `${names.length - 5} more`] : names;
  return shown.length < 2 ? shown.join("") : `${shown.slice(0, -1).join(", ")} and ${shown.at(-1)}`;
}

export function RemoveDialog({
  subject,
  state,
  onClose,
  attempt,
}: {
  subject: Subject | undefined;
  state: State;
  onClose(): void;
  attempt(run: (shell: Shell) => Promise<unknown>): Promise<boolean>;
}) {
  // The words stay while the dialog fades.
  const last = useRef<Loss>(undefined);
  const now = subject && loss(subject, state);
  if (now) last.current = now;
  const remove = () => {
    onClose();
    if (!subject) return;
    const { workspace, gadget } = subject;
    void attempt((shell) => (gadget ? shell.deleteGadget({ workspace, gadget }) : shell.deleteWorkspace({ workspace })));
  };
  return (
    <Confirm open={!!now} danger title={last.current?.title ?? ""} yes={last.current?.yes} onYes={remove} onClose={onClose}>
      {last.current?.lines.map((line) => (
        <p key={line} className="mt-1">
          {line}
        </p>
      ))}
    </Confirm>
  );
}
