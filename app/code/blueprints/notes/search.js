// A full-text index over notes: for each word, the notes that hold it and how much it weighs there.

import { plain, tagsOf, titleOf } from "./text.js";

const WORD = /[\p{L}\p{N}]+/gu;
const weights = { title: 8, tag: 6, text: 1 };
const longest = 40; // characters of a word that are kept

/** Lower case, and without accents: "Café" is found by "cafe". */
export function fold(text) {
  return text.normalize("NFD").replace(/\p{M}+/gu, "").toLowerCase();
}

function wordsOf(text) {
  return (fold(text).match(WORD) ?? []).map((word) => word.slice(0, longest));
}

export class Index {
  #notes = new Map(); // id -> its words
  #words = new Map(); // word -> Map(id -> weight)
  #sorted; // all words in order, made when it is next needed

  /** Takes a note in, in place of what was known of it. */
  put(id, text) {
    this.remove(id);
    const weight = new Map();
    const add = (word, w) => weight.set(word, (weight.get(word) ?? 0) + w);
    for (const word of wordsOf(text)) add(word, weights.text);
    for (const word of wordsOf(titleOf(text))) add(word, weights.title);
    for (const tag of tagsOf(text)) {
      for (const word of wordsOf(tag)) add(word, weights.tag);
      add("#" + fold(tag), weights.tag);
    }
    for (const [word, w] of weight) {
      if (!this.#words.has(word)) {
        this.#words.set(word, new Map());
        this.#sorted = undefined;
      }
      this.#words.get(word).set(id, w);
    }
    this.#notes.set(id, [...weight.keys()]);
  }

  remove(id) {
    for (const word of this.#notes.get(id) ?? []) {
      const holders = this.#words.get(word);
      holders.delete(id);
      if (holders.size === 0) {
        this.#words.delete(word);
        this.#sorted = undefined;
      }
    }
    this.#notes.delete(id);
  }

  /** The notes in which every term begins a word, as a map from id to score. A rare word counts more than a common one. */
  find(terms) {
    let found;
    for (const term of terms) {
      const scores = new Map();
      for (const word of this.#beginning(term)) {
        const holders = this.#words.get(word);
        const rare = Math.log(1 + this.#notes.size / holders.size) * (word === term ? 2 : 1);
        for (const [id, weight] of holders) {
          if (!found || found.has(id)) scores.set(id, Math.max(scores.get(id) ?? 0, rare * (1 + Math.log(weight))));
        }
      }
      for (const [id, score] of scores) scores.set(id, score + (found?.get(id) ?? 0));
      found = scores;
    }
    return found ?? new Map();
  }

  #beginning(term) {
    this.#sorted ??= [...this.#words.keys()].sort();
    let [low, high] = [0, this.#sorted.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#sorted[middle] < term) low = middle + 1;
      else high = middle;
    }
    const out = [];
    for (; low < this.#sorted.length && this.#sorted[low].startsWith(term); low += 1) out.push(this.#sorted[low]);
    return out;
  }
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
