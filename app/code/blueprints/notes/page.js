// The note as it reads: drawn anew after each change, but what did not change keeps its nodes, so that pictures do not
// flicker and the focus stays; and marks on the words that were searched for.

import { html } from "./dom.js";
import { render } from "./markdown.js";
import { hits, termsOf } from "./search.js";

const large = 20_000; // characters from which a drawing waits for a pause
const wait = 200; // that pause, in milliseconds
const most = 500; // words that are marked

export class Page {
  #text;
  #timer;
  #query = "";
  #on;

  /** on: what render() takes. */
  constructor(on) {
    this.#on = on;
    this.node = html("div", { className: "prose", role: "article", ariaLabel: "Note, as it reads", tabIndex: 0 });
  }

  /** Shows a text soon; before the next frame if it is not very long. */
  show(text) {
    this.#text = text;
    if (text.length < large) return this.draw();
    this.#timer ??= setTimeout(() => this.draw(), wait);
    return undefined;
  }

  draw() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#text.trim()) patch(this.node, render(titled(this.#text), this.#on));
    else this.node.replaceChildren(html("p", { className: "muted", textContent: "Nothing is written here yet." }));
    this.#mark();
  }

  /** Marks the words of a query. With find it also brings the first one into sight. */
  mark(query, find = false) {
    this.#query = query;
    const first = this.#mark();
    if (find) first?.startContainer.parentElement.scrollIntoView({ block: "center" });
  }

  #mark() {
    if (!globalThis.CSS?.highlights) return undefined;
    CSS.highlights.delete("found");
    const terms = termsOf(this.#query);
    if (terms.length === 0) return undefined;
    const ranges = [];
    const walker = document.createTreeWalker(this.node, NodeFilter.SHOW_TEXT);
    while (walker.nextNode() && ranges.length < most) {
      for (const match of hits(walker.currentNode.data, terms)) {
        const range = new Range();
        range.setStart(walker.currentNode, match.index);
        range.setEnd(walker.currentNode, match.index + match[0].length);
        ranges.push(range);
      }
    }
    CSS.highlights.set("found", new Highlight(...ranges));
    return ranges[0];
  }
}

/** The first line is the title, with a mark of a heading or without. */
function titled(text) {
  return text.replace(/^((?:[^\S\n]*\n)*)[^\S\n]*(?=[^\s#>|`~!\-*+[])(?!\d+[.)]\s)/, "$1# ");
}

/** Makes node's children those of next; equal ones at the beginning and the end stay the nodes that they are. */
function patch(node, next) {
  const old = [...node.childNodes];
  const fresh = [...next.childNodes];
  let head = 0;
  while (head < old.length && head < fresh.length && old[head].isEqualNode(fresh[head])) head += 1;
  let tail = 0;
  while (tail < old.length - head && tail < fresh.length - head && old[old.length - 1 - tail].isEqualNode(fresh[fresh.length - 1 - tail])) tail += 1;
  const after = old[old.length - tail] ?? null;
  for (const gone of old.slice(head, old.length - tail)) gone.remove();
  for (const child of fresh.slice(head, fresh.length - tail)) node.insertBefore(child, after);
}
