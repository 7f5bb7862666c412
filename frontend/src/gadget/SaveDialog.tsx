import { WarningIcon } from "@phosphor-icons/react";
import { useEffect, useState } from "react";
import { Confirm } from "../ui/dialog";
import { OutsideProblem } from "./OutsideProblem";
import { kindOf, saveFile, sizeInWords, type FileKind, type OfferedFile } from "./saving";
import { useOutside } from "./use_outside";

/** Shows what a gadget wants saved: its name, its size, and what it is by its bytes; and asks. */
export function SaveDialog({ file, gadget, onClose }: { file: OfferedFile | undefined; gadget: string; onClose(): void }) {
  const kind = useKind(file);
  const { busy, problem, begin } = useOutside(file, saveFile, onClose);
  return (
    <Confirm open={file !== undefined} title="Save this file?" yes={!kind ? undefined : problem ? "Try again" : "Save"} danger={!!kind?.warning} busy={busy} onYes={begin} onClose={onClose}>
      <p>“{gadget}” wants to give you a file.</p>
      <dl className="mt-3 grid grid-cols-[auto_1fr] gap-x-4 gap-y-1 rounded-control bg-hover p-3 text-ink">
        <dt className="text-muted">Name</dt>
        <dd className="min-w-0 font-medium break-words">{file?.name}</dd>
        <dt className="text-muted">Kind</dt>
        <dd>{kind?.words ?? "…"}</dd>
        <dt className="text-muted">Size</dt>
        <dd className="tabular-nums">{file && sizeInWords(file.blob.size)}</dd>
      </dl>
      {kind?.warning && (
        <p className="mt-3 flex gap-2 text-stop">
          <WarningIcon size={16} aria-hidden className="mt-0.5 shrink-0" />
          {kind.warning}
        </p>
      )}
      {problem && <OutsideProblem problem={problem} />}
    </Confirm>
  );
}

/** A file that cannot be read (its frame is gone) is never offered for saving. */
function useKind(file: OfferedFile | undefined): FileKind | undefined {
  const [kind, setKind] = useState<{ of: OfferedFile; kind: FileKind }>();
  useEffect(() => {
    if (file) kindOf(file).then((kind) => setKind({ of: file, kind }), () => setKind(undefined));
  }, [file]);
  return kind && kind.of === file ? kind.kind : undefined;
}
