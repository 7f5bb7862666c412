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

/** How many of a card's boxes are ticked: { done, all }. */
export function progress(card) {
  const boxes = card.body.match(/^\s*[-*] \[[ xX]\]/gm) ?? [];
  return { done: boxes.filter((box) => /\[[xX]\]$/.test(box)).length, all: boxes.length };
}

/** The body with the nth box (from 0) ticked or unticked. */
export function tick(body, nth) {
  let n = -1;
  return body.replace(/^(\s*[-*] \[)([ xX])(\])/gm, (whole, before, mark, after) => {
    n += 1;
    return n === nth ? before + (mark === " " ? "x" : " ") + after : whole;
  });
}
