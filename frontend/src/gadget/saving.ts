import { desktop } from "../kernel/desktop";

/** A file that a gadget offers; nothing in it is believed. */
export interface OfferedFile {
  /** A name that is safe to be a file's on every system. */
  name: string;
  blob: Blob;
}

/** What a file is, judged by its bytes. */
export interface FileKind {
  words: string;
  /** What the person should know before saving it. */
  warning?: string;
}

/** The file in a frame's message, or undefined when there is none. */
export function offeredFile(value: unknown): OfferedFile | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { name, blob } = value as Record<string, unknown>;
  if (typeof name !== "string" || !(blob instanceof Blob)) return undefined;
  return { name: safeName(name), blob };
}

const longest = 120;

/** A name without folders, without characters that hide what it is or that a system refuses, and not too long. */
export function safeName(name: string): string {
  const last = name.slice(-4_096).split(/[/\\]/).pop() ?? "";
  const clean = last
    .normalize("NFC")
    .replace(/[\p{Cc}\p{Cf}\p{Co}\p{Cs}<>:"|?*]+/gu, " ")
    .replace(/\s+/g, " ")
    .replace(/^[\s.]+|[\s.]+$/g, "");
  const extension = /\.[^. ]{1,16}$/.exec(clean)?.[0] ?? "";
  const stem = [...clean.slice(0, clean.length - extension.length)].slice(0, longest).join("").trimEnd();
  if (!stem && !extension) return "file";
  return (/^(con|prn|aux|nul|com\d|lpt\d)$/i.test(stem) ? "_" : "") + (stem || "file") + extension;
}

interface Known {
  words: string;
  /** The bytes at the beginning, one character for each; a dot stands for any. */
  begins: string;
  extensions: string[];
  runs?: true;
}

const known: Known[] = [
  { words: "PDF document", begins: "%PDF-", extensions: ["pdf"] },
  { words: "PNG picture", begins: "\x89PNG", extensions: ["png"] },
  { words: "JPEG picture", begins: "\xff\xd8\xff", extensions: ["jpg", "jpeg"] },
  { words: "GIF picture", begins: "GIF8", extensions: ["gif"] },
  { words: "WebP picture", begins: "RIFF....WEBP", extensions: ["webp"] },
  { words: "ZIP archive or office document", begins: "PK\x03\x04", extensions: ["zip", "docx", "xlsx", "pptx", "odt", "ods", "odp", "epub", "gadget"] },
  { words: "gzip archive", begins: "\x1f\x8b", extensions: ["gz", "tgz"] },
  { words: "Windows program", begins: "MZ", extensions: ["exe", "dll", "scr", "com"], runs: true },
  { words: "Linux program", begins: "\x7fELF", extensions: ["", "so", "appimage"], runs: true },
  { words: "macOS program", begins: "\xcf\xfa\xed\xfe", extensions: [""], runs: true },
  { words: "macOS or Java program", begins: "\xca\xfe\xba\xbe", extensions: ["", "class"], runs: true },
  { words: "Script", begins: "#!", extensions: ["", "sh", "py", "pl", "rb", "js"], runs: true },
];

/** Extensions that a double click runs, whatever is inside. */
const running = /^(exe|msi|msix|com|bat|cmd|scr|pif|ps1|vbs|vbe|js|jse|wsf|hta|lnk|reg|jar|sh|command|desktop|app|dmg|pkg|deb|rpm|appimage)$/;
/** Extensions that open in a browser with their scripts. */
const pages = /^(html?|xhtml|mhtml?|svg)$/;

/** Judges a file by its first bytes and its name. */
export async function kindOf({ name, blob }: OfferedFile): Promise<FileKind> {
  const head = String.fromCharCode(...new Uint8Array(await blob.slice(0, 512).arrayBuffer()));
  const extension = /\.([^.]*)$/.exec(name)?.[1]?.toLowerCase() ?? "";
  const match = known.find(({ begins }) => head.length >= begins.length && [...begins].every((c, i) => c === "." || c === head[i]));
  const words = match?.words ?? (blob.size === 0 ? "Empty file" : /[\0\x01-\x08\x0e-\x1a]/.test(head) ? "Data of a kind that Toolshed does not know" : "Text");
  const expected = known.find(({ extensions }) => extension !== "" && extensions.includes(extension));
  const lies = match ? !match.extensions.includes(extension) && (match.runs || expected) : expected && !expected.runs;
  if (lies) return { words, warning: `Its name ends in “.${extension}”, but that is not what is inside. Save it only if you know why.` };
  if (match?.runs || running.test(extension)) return { words, warning: "This is a program, or opens like one. It would run outside the sandbox, with all your rights." };
  if (pages.test(extension)) return { words, warning: "Opened outside Toolshed this is a page whose scripts run, with the network." };
  return { words };
}

/** A size in words; larger ones are rounded up. */
export function sizeInWords(bytes: number): string {
  if (bytes < 1_024) return `${bytes} ${bytes === 1 ? "byte" : "bytes"}`;
  if (bytes < 1_048_576) return `${Math.ceil(bytes / 1_024)} KB`;
  return `${Math.ceil((10 * bytes) / 1_048_576) / 10} MB`;
}

/** The one place that saves a gadget's file, after the person confirmed it. In the window it asks where. Rejects with KernelError. */
export async function saveFile({ name, blob }: OfferedFile): Promise<void> {
  const own = desktop();
  if (own) await own.save(name, blob);
  else download(name, blob);
}

function download(name: string, blob: Blob): void {
  // Of no type that a browser opens by itself.
  const address = URL.createObjectURL(new Blob([blob], { type: "application/octet-stream" }));
  const link = Object.assign(document.createElement("a"), { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
