import { AlertDialog } from "@base-ui/react/alert-dialog";
import { useRef, type ReactNode } from "react";
import { Button } from "./button";

/** A question that must be answered. The safe answer has the focus. */
export function Confirm({
  open,
  title,
  children,
  yes,
  no = "Cancel",
  danger,
  busy,
  onYes,
  onClose,
}: {
  open: boolean;
  title: string;
  children: ReactNode;
  yes?: string;
  no?: string;
  danger?: boolean;
  /** What was agreed to is under way: the answer cannot be given twice, and keeps the focus meanwhile. */
  busy?: boolean;
  onYes: () => void;
  onClose: () => void;
}) {
  const safe = useRef<HTMLButtonElement>(null);
  return (
    <AlertDialog.Root open={open} onOpenChange={(now) => !now && onClose()}>
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className="fixed inset-0 z-40 bg-veil transition-opacity duration-150 data-ending-style:opacity-0 data-starting-style:opacity-0" />
        <AlertDialog.Popup
          initialFocus={safe}
          className="floats fixed top-[22vh] left-1/2 z-50 w-[420px] max-w-[calc(100vw-32px)] -translate-x-1/2 rounded-card border border-line bg-surface p-5 shadow-float outline-none"
        >
          <AlertDialog.Title className="text-15 font-bold break-words">{title}</AlertDialog.Title>
          <AlertDialog.Description render={<div />} className="mt-2 text-13 text-muted">
            {children}
          </AlertDialog.Description>
          <div className="mt-5 flex justify-end gap-2">
            <Button ref={safe} onClick={onClose}>
              {no}
            </Button>
            {yes && (
              <Button look={danger ? "danger" : "primary"} aria-disabled={busy} onClick={busy ? undefined : onYes}>
                {yes}
              </Button>
            )}
          </div>
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}
