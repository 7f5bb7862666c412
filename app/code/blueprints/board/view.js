// DOM for the board's columns and cards. It draws a state and keeps nothing but the nodes; cards that did not change keep
// theirs, so focus, scrolling and a running drag survive what other people do meanwhile.

import { matches, progress } from "./model.js";
import { render } from "./markdown.js";

export class BoardView {
  #root;
  #commands;
  #lanes = new Map(); // column id -> its nodes
  #cards = new Map(); // card id -> { node, card }

  /** commands: { addCard, addColumn, renameColumn, removeColumn, open } */
  constructor(root, commands) {
    this.#root = root;
    this.#commands = commands;
  }

  draw(state, query = "") {
    const lanes = state.columns.map((column) => this.#lane(column));
    for (const [id, lane] of this.#lanes) {
      if (!state.columns.some((column) => column.id === id)) {
        lane.node.remove();
        this.#lanes.delete(id);
      }
    }
    state.columns.forEach((column, n) => this.#fill(lanes[n], column, state, query));
    const add = this.#root.querySelector(".newlane") ?? this.#newLane();
    keepOrder(this.#root, [...lanes.map((lane) => lane.node), add]);
    for (const id of this.#cards.keys()) if (!state.cards.has(id)) this.#cards.delete(id);
  }

  node(id) {
    return this.#cards.get(id)?.node;
  }

  /** Opens the field for a new card in a column, as if its button had been pressed. */
  compose(column) {
    this.#lanes.get(column)?.node.querySelector(":scope > .add")?.click();
  }

  #lane(column) {
    const known = this.#lanes.get(column.id);
    if (known) return known;
    const node = html("div", { className: "lane", role: "group" });
    node.dataset.column = column.id;
    const title = html("h2", { tabIndex: 0, title: "Rename" });
    const count = html("span", { className: "count" });
    const remove = html("button", { textContent: "×", ariaLabel: "Remove this column", title: "Remove this column; its cards go to the archive" });
    const header = html("div", { className: "head" }, title, count, remove);
    const list = html("ol", { role: "list" });
    const add = html("button", { className: "add", textContent: "Add a card" });
    node.append(header, list, add);
    const rename = () => this.#rename(column.id, title);
    title.addEventListener("click", rename);
    title.addEventListener("keydown", (event) => event.key === "Enter" && rename());
    remove.addEventListener("click", () => this.#commands.removeColumn(column.id));
    add.addEventListener("click", () => this.#compose(column.id, node, add));
    const lane = { node, title, count, list };
    this.#lanes.set(column.id, lane);
    return lane;
  }

  #fill(lane, column, state, query) {
    if (lane.title.isConnected || !lane.node.querySelector(".head .field")) lane.title.textContent = column.title;
    lane.node.setAttribute("aria-label", column.title);
    lane.count.textContent = column.cards.length || "";
    const nodes = column.cards.filter((id) => state.cards.has(id)).map((id) => this.#card(state.cards.get(id), query));
    if (nodes.length === 0) nodes.push(lane.list.querySelector(".empty") ?? html("li", { className: "empty", textContent: "Nothing here." }));
    keepOrder(lane.list, nodes);
  }

  #card(card, query) {
    let known = this.#cards.get(card.id);
    if (!known) {
      const node = html("li", { className: "card", tabIndex: 0 });
      node.dataset.card = card.id;
      node.addEventListener("click", (event) => event.target.closest("a") || this.#commands.open(card.id));
      known = { node };
      this.#cards.set(card.id, known);
    }
    if (known.card?.changed !== card.changed) {
      drawCard(known.node, card);
      if (known.card) told(known.node);
      known.card = card;
    }
    known.node.classList.toggle("dim", query !== "" && !matches(card, query));
    return known.node;
  }

  #compose(column, lane, add) {
    const field = html("textarea", { className: "field", rows: 2, placeholder: "What is to be done?", ariaLabel: "Title of the new card" });
    const box = html("div", { className: "compose" }, field);
    add.replaceWith(box);
    let open = true; // taking the field away makes it lose the focus, which closes it again
    const close = () => {
      if (!open) return;
      open = false;
      box.replaceWith(add);
    };
    const save = () => {
      const title = field.value.trim();
      field.value = "";
      if (title) this.#commands.addCard(column, title);
    };
    field.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.shiftKey) {
        event.preventDefault();
        save();
      } else if (event.key === "Escape") {
        event.stopPropagation();
        field.value = "";
        close();
        add.focus();
      }
    });
    field.addEventListener("blur", () => {
      save();
      close();
    });
    field.focus();
    field.scrollIntoView({ block: "nearest" });
  }

  #rename(id, title) {
    edit(title, title.textContent, "Title of the column", (text) => this.#commands.renameColumn(id, text));
  }

  #newLane() {
    const button = html("button", { className: "newlane", textContent: "Add a column" });
    button.addEventListener("click", () => edit(button, "", "Title of the new column", (text) => this.#commands.addColumn(text)));
    return button;
  }
}

function drawCard(node, card) {
  node.replaceChildren(html("div", { className: "title", textContent: card.title }));
  if (card.body.trim()) {
    const text = html("div", { className: "text" });
    text.append(render(card.body.slice(0, 1_000), { top: 3 }));
    node.append(text);
  }
  const { done, all } = progress(card);
  if (all > 0) {
    const meter = html("div", { className: done === all ? "meter full" : "meter" }, html("i", {}), `${done}/${all}`);
    meter.style.setProperty("--part", `${(100 * done) / all}%`);
    node.append(meter);
  }
}

/** Shows for a moment that a node is news. */
function told(node) {
  node.classList.remove("told");
  requestAnimationFrame(() => node.classList.add("told"));
}

/** Puts a field in a node's place until Enter or a click elsewhere saves, or Escape gives up. */
function edit(node, value, label, save) {
  const field = html("input", { className: "field", value, ariaLabel: label, placeholder: label });
  let open = true;
  const close = (keep) => {
    if (!open) return;
    open = false;
    field.replaceWith(node);
    const text = field.value.trim();
    if (keep && text && text !== value) save(text);
  };
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter") close(true);
    if (event.key === "Escape") {
      event.stopPropagation();
      close(false);
    }
  });
  field.addEventListener("blur", () => close(true));
  node.replaceWith(field);
  field.focus();
  field.select();
}

/** Makes children the child nodes of parent in that order, moving only those that stand wrong. */
function keepOrder(parent, children) {
  for (const node of [...parent.children]) if (!children.includes(node) && !node.matches(".slot, .field")) node.remove();
  children.forEach((node, n) => parent.children[n] !== node && parent.insertBefore(node, parent.children[n] ?? null));
}

export function html(name, properties, ...children) {
  const node = Object.assign(document.createElement(name), properties);
  node.append(...children);
  return node;
}
