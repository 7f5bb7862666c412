import { CheckIcon, CopyIcon, WarningCircleIcon, type Icon } from "@phosphor-icons/react";
import { useState, type ReactNode } from "react";
import type { Problem } from "../kernel/api.gen";
import { problemText, sentence } from "../kernel/problem";
import { Button } from "./button";
import { Words } from "./words";

/** What went wrong, why, what to do, and the way to copy all of it. Fills the place it is put in. */
export function ProblemPanel({
  problem,
  icon: Glyph = WarningCircleIcon,
  alone,
  children,
}: {
  problem: Problem;
  icon?: Icon;
  /** Nothing else is on the page. */
  alone?: boolean;
  /** Buttons that help. */
  children?: ReactNode;
}) {
  const Heading = alone ? "h1" : "h2";
  return (
    <div role="alert" className="rises flex h-full items-center justify-center overflow-auto p-6">
      <div className="w-full max-w-[440px]">
        <Glyph size={32} weight="light" aria-hidden className="-ml-1 text-stop" />
        <Heading className="mt-3 text-18 font-bold text-balance">{heading(problem.what)}</Heading>
        {problem.why && <p className="mt-1.5 text-13 break-words text-muted"><Words text={sentence(problem.why)} /></p>}
        {problem.todo && <p className="mt-3 text-13 break-words"><Words text={sentence(problem.todo)} /></p>}
        {problem.detail && (
          <pre className="mt-4 max-h-36 overflow-auto rounded-control bg-hover p-3 font-mono text-12 break-words whitespace-pre-wrap text-muted">
            {problem.detail}
          </pre>
        )}
        <div className="mt-5 flex flex-wrap gap-2">
          {children}
          <CopyButton text={problemText(problem)} label="Copy details" />
        </div>
      </div>
    </div>
  );
}

/** A heading has no full stop. */
function heading(what: string): string {
  return sentence(what).replace(/\.$/, "");
}

export function CopyButton({ text, label }: { text: string; label: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await copyText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 1_500);
  };
  return (
    <Button look="quiet" icon={copied ? CheckIcon : CopyIcon} onClick={copy}>
      {copied ? "Copied" : label}
    </Button>
  );
}

/** Puts text on the clipboard, also where the page has no clipboard permission. */
export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    area.style.position = "fixed";
    area.style.opacity = "0";
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}
