import { Confirm } from "../ui/dialog";
import { CopyButton } from "../ui/problem_panel";
import { openExternal } from "./external";
import { OutsideProblem } from "./OutsideProblem";
import { useOutside } from "./use_outside";

/** Shows the whole address that a gadget wants opened, and asks. */
export function LinkDialog({ address, gadget, onClose }: { address: URL | undefined; gadget: string; onClose(): void }) {
  const { busy, problem, begin } = useOutside(address, openExternal, onClose);
  return (
    <Confirm open={address !== undefined} title="Open this address?" yes={address?.protocol === "mailto:" ? "Open mail program" : "Open in browser"} busy={busy} onYes={begin} onClose={onClose}>
      <p>“{gadget}” wants to open an address outside Toolshed. Whoever runs it learns all that stands in it.</p>
      <p data-address className="mt-3 max-h-40 overflow-y-auto rounded-control bg-hover p-3 font-mono text-12 break-all text-ink">
        {address?.href}
      </p>
      {problem && address && (
        <>
          <OutsideProblem problem={problem} />
          <div className="mt-3">
            <CopyButton text={address.href} label="Copy address" />
          </div>
        </>
      )}
    </Confirm>
  );
}
