// The page of a board: connects to the gadget, keeps what it was told, and draws it. `gadget` is the server half.

import { apply, find, fromSnapshot } from "./model.js";
import { BoardView, html } from "./view.js";
import { enableDrag } from "./drag.js";
import { openArchive, openCard } from "./editor.js";
import { style } from "./style.js";

let state;
let query = "";
let redrawArchive = () => {};

document.head.append(html("style", { textContent: style }));
const search = html("input", { className: "search", type: "search", placeholder: "Search cards", ariaLabel: "Search cards" });
const archive = html("button", { className: "quiet", textContent: "Archive" });
const lanes = html("div", { className: "lanes" }, html("p", { className: "waiting", textContent: "Opening the board…" }));
document.body.append(html("div", { className: "bar" }, search, html("span", { className: "space" }), archive), lanes);

// Every change is a call; what it did comes back to all views through watch. A call that fails says so and changes nothing.
const commands = Object.fromEntries(
  ["addCard", "addColumn", "renameColumn", "removeColumn", "moveCard", "moveColumn", "editCard", "archiveCard", "restoreCard", "deleteCard"].map((name) => [
    name,
    (...args) => gadget[name](...args).catch((error) => toast(error.message)),
  ]),
);
commands.open = (id) => openCard(state.cards.get(id), commands);

const view = new BoardView(lanes, commands);
enableDrag(lanes, commands);

let patience = 200; // milliseconds before watching again, doubled as long as it fails

/** Called by the gadget with each change. When the gadget goes away (it was restarted) it is disposed: watch again. */
class Watcher extends RpcTarget {
  changed(change) {
    state = apply(state, change);
    draw();
  }
  [Symbol.dispose]() {
    setTimeout(watch, patience);
    patience = Math.min(2 * patience, 10_000);
  }
}

async function watch() {
  try {
    state = fromSnapshot(await gadget.watch(new Watcher()));
    patience = 200;
    draw();
  } catch (error) {
    toast("The board could not be opened: " + error.message);
  }
}

function draw() {
  lanes.querySelector(".waiting")?.remove();
  view.draw(state, query);
  redrawArchive(state);
}

search.addEventListener("input", () => {
  query = search.value.trim();
  draw();
});
archive.addEventListener("click", () => (redrawArchive = openArchive(state, commands)));

// ---- Keyboard ----

document.addEventListener("keydown", (event) => {
  if (!state || event.target.closest("input, textarea, dialog")) {
    if (event.key === "Escape" && event.target === search) search.blur();
    return;
  }
  const card = event.target.closest?.(".card")?.dataset.card;
  if (event.key === "/") search.focus();
  else if (event.key === "n" && !event.ctrlKey && !event.metaKey) view.compose(card ? find(state, card).column.id : state.columns[0]?.id);
  else if (card && event.key === "Enter") commands.open(card);
  else if (card && event.key === "Delete") commands.archiveCard(card);
  else if (event.key.startsWith("Arrow") && (card || !event.altKey)) step(card, event.key.slice(5), event.altKey);
  else return;
  event.preventDefault();
});

/** Moves the focus, or with move the card itself, one place in a direction. */
async function step(id, direction, move) {
  const at = id && find(state, id);
  if (!at) return view.node(state.columns.find((column) => column.cards.length)?.cards[0])?.focus();
  const columns = state.columns;
  const aside = { Left: -1, Right: 1 }[direction] ?? 0;
  const along = { Up: -1, Down: 1 }[direction] ?? 0;
  let to = columns[columns.indexOf(at.column) + aside];
  while (!move && aside && to && to.cards.length === 0) to = columns[columns.indexOf(to) + aside];
  if (!to) return;
  if (move) {
    if (at.index + along < 0) return;
    await commands.moveCard(id, to.id, aside ? Math.min(at.index, to.cards.length) : at.index + along);
    view.node(id)?.focus();
  } else {
    const index = Math.max(0, Math.min(to.cards.length - 1, at.index + along));
    view.node(to.cards[index])?.focus();
  }
}

function toast(text) {
  document.querySelector(".toast")?.remove();
  const node = html("div", { className: "toast", role: "status", textContent: text });
  document.body.append(node);
  setTimeout(() => node.remove(), 6_000);
}

await watch();
