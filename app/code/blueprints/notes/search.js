// Full-text search over notes. It reads the texts themselves: a table of all words would be several times as large as they
// are, and a full notebook would not fit into a gadget's memory.

import { plain, tagsOf, titleOf } from "./text.js";

const longest = 40; // characters of a word that count
const most = 20; // hits in one note that count
const LETTER = /[\p{L}\p{N}]/u;

/** Lower case, and without accents: "Café" is found by "cafe". */
export function fold(text) {
  if (/^[\0-\x7f]*$/.test(text)) return text.toLowerCase();
  return text.normalize("NFD").replace(/\p{M}+/gu, "").toLowerCase();
}

export class Finder {
  #notes = new Map(); // id -> { text, and, once it was searched: folded, title, tags }

  /** Takes a note in, in place of what was known of it. */
  put(id, text) {
    this.#notes.set(id, { text });
  }

  remove(id) {
    this.#notes.delete(id);
  }

  /** The notes in which every term begins a word, as a map from id to score. A rare word counts more than a common one. */
  find(terms) {
    let found;
    for (const term of terms) {
      const weights = new Map();
      for (const [id, note] of this.#notes) {
        const weight = !found || found.has(id) ? weigh(note, term) : 0;
        if (weight > 0) weights.set(id, weight);
      }
      const rare = Math.log(1 + this.#notes.size / weights.size);
      for (const [id, weight] of weights) weights.set(id, rare * weight + (found?.get(id) ?? 0));
      found = weights;
    }
    return found ?? new Map();
  }
}

function weigh(note, term) {
  note.folded ??= fold(note.text);
  if (!note.folded.includes(term)) return 0;
  note.title ??= fold(titleOf(note.text));
  note.tags ??= tagsOf(note.text).map(fold);
  const tag = note.tags.reduce((best, tag) => Math.max(best, tag === term.replace("#", "") ? 6 : tag.startsWith(term.replace("#", "")) ? 3 : 0), 0);
  if (term.startsWith("#")) return tag;
  const inText = count(note.folded, term);
  return inText === 0 ? 0 : Math.log(1 + inText) + tag + 4 * Math.min(2, count(note.title, term));
}

/** How often a term begins a word of a folded text; a whole word counts twice. */
function count(text, term) {
  let n = 0;
  for (let at = text.indexOf(term); at >= 0 && n < most; at = text.indexOf(term, at + 1)) {
    if (at === 0 || !LETTER.test(text[at - 1])) n += LETTER.test(text[at + term.length] ?? "") ? 1 : 2;
  }
  return n;
}

/** The terms of a query: words, and tags with their #. At most 10 count. */
export function termsOf(query) {
  const terms = fold(query.slice(0, 500)).match(/#[\p{L}\p{N}][\p{L}\p{N}_/-]*|[\p{L}\p{N}]+/gu) ?? [];
  return [...new Set(terms.map((term) => term.slice(0, longest)))].slice(0, 10);
}

/** The words of a text that one of the terms begins, as matches with their index. */
export function* hits(text, terms) {
  const begins = terms.map((term) => term.replace(/^#/, ""));
  for (const match of text.matchAll(/[\p{L}\p{N}\p{M}]+/gu)) {
    const word = fold(match[0]);
    if (begins.some((begin) => word.startsWith(begin))) yield match;
  }
}

/** Cuts a text into [piece, hit] pairs; a hit is a word that one of the terms begins. */
export function mark(text, terms) {
  const out = [];
  let at = 0;
  for (const match of hits(text, terms)) {
    if (match.index > at) out.push([text.slice(at, match.index), false]);
    out.push([match[0], true]);
    at = match.index + match[0].length;
  }
  if (at < text.length) out.push([text.slice(at), false]);
  return out;
}

/** The part of a text around its first hit after the title, marked. */
export function snippet(text, terms, length = 160) {
  const body = plain(text.slice(text.indexOf("\n", text.search(/\S/)) + 1 || text.length));
  let from = 0;
  for (const match of hits(body, terms)) {
    from = match.index > 30 ? body.lastIndexOf(" ", match.index - 16) + 1 : 0;
    break;
  }
  return mark((from > 0 ? "… " : "") + body.slice(from, from + length), terms);
}
