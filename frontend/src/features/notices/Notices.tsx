import { InfoIcon, WarningCircleIcon, WarningIcon, XIcon } from "@phosphor-icons/react";
import { useState } from "react";
import type { Notice } from "../../kernel/api.gen";
import { IconButton } from "../../ui/button";
import { Words } from "../../ui/words";

const looks = {
  info: { icon: InfoIcon, tone: "text-muted" },
  warning: { icon: WarningIcon, tone: "text-wait" },
  error: { icon: WarningCircleIcon, tone: "text-stop" },
};
const atOnce = 2;

/** What the person should know, until they put it away. */
export function Notices({ notices, onDismiss }: { notices: Notice[]; onDismiss(id: string): void }) {
  const [all, setAll] = useState(false);
  if (notices.length === 0) return null;
  const shown = all ? notices : notices.slice(0, atOnce);
  const hidden = notices.length - shown.length;
  return (
    <section aria-label="Notices" className="max-h-48 shrink-0 overflow-y-auto">
      <ul>
        {shown.map((notice) => {
          const { icon: Glyph, tone } = looks[notice.level];
          return (
            <li key={notice.id} className="rises flex min-h-10 items-center gap-2.5 border-b border-line bg-surface py-1 pr-2 pl-4">
              <Glyph size={16} aria-hidden className={`shrink-0 ${tone}`} />
              <p role={notice.level === "error" ? "alert" : "status"} className="min-w-0 grow py-1 break-words">
                <Words text={notice.text} />{" "}
                {notice.todo && (
                  <span className="text-muted">
                    <Words text={notice.todo} />
                  </span>
                )}
              </p>
              <IconButton label="Dismiss" icon={XIcon} small onClick={() => onDismiss(notice.id)} />
            </li>
          );
        })}
      </ul>
      {hidden > 0 && (
        <button type="button" onClick={() => setAll(true)} className="ease h-7 w-full border-b border-line text-12 text-muted hover:bg-hover">
          Show {hidden} more
        </button>
      )}
    </section>
  );
}
