// What both halves know of a note's text: pure functions over strings.

/** The title of a note: its first line that is not blank, without Markdown marks; "" if there is none. */
export function titleOf(text) {
  const line = /^.*\S.*$/m.exec(text.slice(0, 2_000))?.[0] ?? "";
  return plain(line).slice(0, 200);
}

/** The text after the title, as one line without Markdown marks, at most length characters. */
export function excerptOf(text, length = 160) {
  const head = text.slice(0, 2_000);
  const first = /^.*\S.*$/m.exec(head);
  return first ? plain(head.slice(first.index + first[0].length)).slice(0, length) : "";
}

/** Text as a person reads it: marks gone, links by their names, white space folded. */
export function plain(text) {
  return text
    .replace(/!?\[([^\]\n]*)\]\([^)\n]*\)/g, "$1")
    .replace(/^[ \t]*(?:#{1,6}[ \t]+|>[ \t]?|[-*+][ \t]+(?:\[[ xX]\][ \t]+)?|```.*$)/gm, "")
    .replace(/\*\*|__|~~|`/g, "")
    .replace(/(^|[^\p{L}\p{N}*_])([*_])(\S[^*_\n]{0,200}?)\2(?![\p{L}\p{N}*_])/gu, "$1$3")
    .replace(/\s+/g, " ")
    .trim();
}

/** The tags of a note (#like-this, outside code), lower case, each once, at most 50. */
export function tagsOf(text) {
  const prose = text.replace(/^```[^]*?(?:^```|$(?![^]))/gm, "").replace(/`[^`\n]*`/g, "").replace(/\]\([^)\n]*\)|https?:\/\/\S+/g, "");
  const tags = new Set();
  for (const [, tag] of prose.matchAll(/(?:^|[\s(])#([\p{L}\p{N}][\p{L}\p{N}_/-]{0,49})/gu)) {
    if (!/^\d+$/.test(tag)) tags.add(tag.toLowerCase());
    if (tags.size === 50) break;
  }
  return [...tags];
}

/** The ids of the attachments that a text shows or links to. */
export function attachmentsIn(text) {
  return new Set([...text.matchAll(/\]\(attachment:([\w-]{1,64})\)/g)].map((match) => match[1]));
}

const BOX = /^((?:\s*>\s?)*\s*(?:[-*+]|\d{1,9}[.)])\s+\[)([ xX])(?=\]\s)/;

/** The text with the box on a line (from 0) ticked or unticked; the text itself if there is no box there. */
export function tick(text, line) {
  const lines = text.split("\n");
  const box = BOX.exec(lines[line] ?? "");
  if (!box) return text;
  lines[line] = box[1] + (box[2] === " " ? "x" : " ") + lines[line].slice(box[1].length + 1);
  return lines.join("\n");
}

/**
 * Brings two changes of one text together: what only one side changed is taken from that side, by lines, or by words where
 * both changed one line. Lines that both put in at the same place are all kept, theirs first. Returns undefined if both
 * changed the same words differently, or if the texts are too far apart to compare.
 */
export function merge(base, mine, theirs) {
  if (mine === theirs || theirs === base) return mine;
  if (mine === base) return theirs;
  const lines = (text) => text.split("\n");
  const words = (text) => text.match(/\n|[^\S\n]+|\S+/g) ?? [];
  return weave(lines(base), lines(mine), lines(theirs), true)?.join("\n") ?? weave(words(base), words(mine), words(theirs), false)?.join("");
}

/** The three-way merge of lists. By lines, changes may touch; words need one between them that neither side changed. */
function weave(base, mine, theirs, byLines) {
  const left = hunks(base, mine);
  const right = hunks(base, theirs);
  if (!left || !right) return undefined;
  const before = (first, second) => first.end < second.start || (byLines && first.end === second.start && first.start < first.end && second.start < second.end);
  const out = [];
  let at = 0;
  while (left.length || right.length) {
    const [l, r] = [left[0], right[0]];
    let next;
    if (!r || (l && before(l, r))) next = left.shift();
    else if (!l || before(r, l)) next = right.shift();
    else {
      const lines = both(l, r, byLines && base.slice(l.start, l.end).every((line) => line.trim() === ""));
      if (!lines) return undefined;
      left.shift();
      right.shift();
      next = { ...l, lines };
    }
    out.push(...base.slice(at, next.start), ...next.lines);
    at = next.end;
  }
  return [...out, ...base.slice(at)];
}

/** What two changes of one place make together, if one holds the other, or if nothing but blank lines stood there. */
function both(l, r, blank) {
  if (l.start !== r.start || l.end !== r.end) return undefined;
  const equal = (a, b) => a.every((line, i) => line === b[i]);
  const holds = (long, short) => long.length >= short.length && (equal(short, long) || equal(short, long.slice(long.length - short.length)));
  if (equal(l.lines, r.lines) && l.lines.length === r.lines.length) return l.lines;
  if (!blank) return undefined;
  if (holds(r.lines, l.lines)) return r.lines;
  return holds(l.lines, r.lines) ? l.lines : [...r.lines, ...l.lines];
}

/** The places where b became a: { start, end, lines }, meaning that b[start..end) was replaced. */
function hunks(b, a) {
  let head = 0;
  while (head < b.length && head < a.length && b[head] === a[head]) head += 1;
  let tail = 0;
  while (tail < b.length - head && tail < a.length - head && b[b.length - 1 - tail] === a[a.length - 1 - tail]) tail += 1;
  const [from, to] = [b.slice(head, b.length - tail), a.slice(head, a.length - tail)];
  if (from.length * to.length > 1_000_000) return undefined; // the table below would be too large
  // The longest common subsequence of lines, by the classic table.
  const width = to.length + 1;
  const table = new Uint16Array((from.length + 1) * width);
  for (let i = from.length - 1; i >= 0; i -= 1) {
    for (let k = to.length - 1; k >= 0; k -= 1) {
      const at = i * width + k;
      table[at] = from[i] === to[k] ? table[at + width + 1] + 1 : Math.max(table[at + width], table[at + 1]);
    }
  }
  const out = [];
  let open;
  const change = (i) => (open ??= (out.push({ start: head + i, end: head + i, lines: [] }), out[out.length - 1]));
  for (let i = 0, k = 0; i < from.length || k < to.length; ) {
    if (i < from.length && k < to.length && from[i] === to[k]) {
      open = undefined;
      i += 1;
      k += 1;
    } else if (k < to.length && (i === from.length || table[i * width + k + 1] >= table[(i + 1) * width + k])) {
      change(i).lines.push(to[k]);
      k += 1;
    } else {
      change(i).end += 1;
      i += 1;
    }
  }
  return out;
}
