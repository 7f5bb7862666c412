// What a view knows of the board: pure functions over plain values.

/** Makes a view's state of what the server's watch returned. */
export function fromSnapshot({ revision, columns, cards }) {
  return { revision, columns, cards: new Map(cards.map((card) => [card.id, card])) };
}

/** Returns the state after a change from the server. A change that is older than the state leaves it as it is. */
export function apply(state, change) {
  if (change.revision <= state.revision) return state;
  const cards = new Map(state.cards);
  for (const card of change.cards ?? []) cards.set(card.id, card);
  for (const id of change.removed ?? []) cards.delete(id);
  return { revision: change.revision, columns: change.columns ?? state.columns, cards };
}

/** The archived cards, the last archived first. */
export function archived(state) {
  return [...state.cards.values()].filter((card) => card.archived).sort((a, b) => b.archived - a.archived);
}

/** Whether every word of the query stands in the card, whatever its case. */
export function matches(card, query) {
  const haystack = (card.title + "\n" + card.body).toLowerCase();
  return query.toLowerCase().split(/\s+/).every((word) => haystack.includes(word));
}

/** Where a card stands: { column, index }, or undefined if it is in no column. */
export function find(state, id) {
  for (const column of state.columns) {
    const index = column.cards.indexOf(id);
    if (index >= 0) return { column, index };
  }
  return undefined;
}

const BOX = /^((?:\s*>\s?)*\s*(?:[-*+]|\d{1,9}[.)])\s+\[)([ xX])(?=\]\s)/;

/** How many of a card's boxes are ticked: { done, all }. */
export function progress(card) {
  const boxes = card.body.split("\n").map((line) => BOX.exec(line)).filter(Boolean);
  return { done: boxes.filter((box) => box[2] !== " ").length, all: boxes.length };
}

/** The body with the box on a line (from 0) ticked or unticked; the body itself if there is no box there. */
export function tick(body, line) {
  const lines = body.split("\n");
  const box = BOX.exec(lines[line] ?? "");
  if (!box) return body;
  lines[line] = box[1] + (box[2] === " " ? "x" : " ") + lines[line].slice(box[1].length + 1);
  return lines.join("\n");
}
