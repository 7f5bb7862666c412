import type { Problem } from "./api.gen";

/** A failed call, with the kernel's own words for the person. */
export class KernelError extends Error {
  constructor(readonly problem: Problem) {
    super(problem.what);
    this.name = problem.kind;
  }
}

/** The page may not talk to this kernel until the person does something. */
export class Denied extends KernelError {}

export const disconnected: Problem = {
  kind: "disconnected",
  what: "Toolshed is not answering.",
  why: "The program was closed, or it is starting again.",
  todo: "Wait a moment: this page reconnects by itself.",
};

/**
 * Turns whatever a call rejected with into a Problem. Errors of the kernel
 * carry what, why and todo; anything else is a defect and is shown with its own
 * message as detail.
 */
export function toProblem(error: unknown): Problem {
  if (error instanceof KernelError) return error.problem;
  if (error instanceof Error) {
    const told = error as Error & Partial<Problem>;
    if (typeof told.what === "string") {
      return {
        // Cap'n Web keeps only the names that JavaScript knows, so the kind is told twice.
        kind: typeof told.kind === "string" ? told.kind : error.name,
        what: told.what,
        why: typeof told.why === "string" ? told.why : "",
        todo: typeof told.todo === "string" ? told.todo : "",
        ...(typeof told.detail === "string" && told.detail ? { detail: told.detail } : {}),
      };
    }
  }
  return {
    kind: "unexpected",
    what: "That did not work.",
    why: "Toolshed answered with an error that it does not explain.",
    todo: "Try again. If it stays, copy the details and report them.",
    detail: error instanceof Error ? `${error.name}: ${error.message}` : String(error),
  };
}

/** The text that "Copy details" puts on the clipboard. */
export function problemText(p: Problem): string {
  return [sentence(p.what), sentence(p.why), sentence(p.todo), p.detail, `(${p.kind})`].filter(Boolean).join("\n");
}

/** A clause as a sentence: it begins with a capital and ends with a full stop. */
export function sentence(text: string): string {
  const trimmed = text.trim();
  if (!trimmed) return "";
  const capital = trimmed.replace(/^\p{Ll}(?![\w]*[.(])/u, (first) => first.toUpperCase());
  return /[.!?…:]$/.test(capital) ? capital : `${capital}.`;
}
