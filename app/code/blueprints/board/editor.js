// The dialogs: one card, open to be read and written; and the archive.

import { archived, tick } from "./model.js";
import { render } from "./markdown.js";
import { html } from "./view.js";

/**
 * Opens a card. commands: { editCard(id, { title, body }), archiveCard(id) }.
 * What was typed is saved when the dialog closes, however it closes, except by Cancel.
 */
export function openCard(card, commands) {
  const title = html("input", { className: "title", value: card.title, ariaLabel: "Title" });
  const body = html("textarea", { value: card.body, ariaLabel: "Text, in Markdown", placeholder: "Write in Markdown. - [ ] makes a box to tick." });
  const prose = html("div", { className: "prose" });
  const read = html("button", { type: "button", role: "tab", textContent: "Read" });
  const write = html("button", { type: "button", role: "tab", textContent: "Write" });
  const note = html("span", { textContent: "Changed " + new Date(card.changed).toLocaleString() });
  const archive = html("button", { type: "button", textContent: "Archive" });
  const cancel = html("button", { type: "button", textContent: "Cancel" });
  const done = html("button", { type: "button", className: "primary", textContent: "Done" });
  const inside = html("div", { className: "inside" }, title, html("div", { className: "tabs", role: "tablist" }, read, write), prose, body, html("footer", {}, note, archive, cancel, done));
  const dialog = html("dialog", { ariaLabel: "Card" }, inside);

  const show = (writing) => {
    read.setAttribute("aria-selected", String(!writing));
    write.setAttribute("aria-selected", String(writing));
    prose.hidden = writing;
    body.hidden = !writing;
    if (writing) return body.focus();
    const ticked = (line) => {
      body.value = tick(body.value, line);
      show(false);
      prose.querySelector(`input[data-line="${line}"]`)?.focus();
    };
    prose.replaceChildren(render(body.value, { top: 3, tick: ticked }));
  };
  const close = (save) => {
    const change = {};
    if (title.value.trim() && title.value.trim() !== card.title) change.title = title.value;
    if (body.value !== card.body) change.body = body.value;
    dialog.remove();
    if (save && Object.keys(change).length > 0) commands.editCard(card.id, change);
  };
  read.addEventListener("click", () => show(false));
  write.addEventListener("click", () => show(true));
  archive.addEventListener("click", () => {
    close(true);
    commands.archiveCard(card.id);
  });
  cancel.addEventListener("click", () => close(false));
  done.addEventListener("click", () => close(true));
  open(dialog, () => close(true));
  dialog.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey || event.target === title)) close(true);
  });
  show(card.body.trim() === "");
  (card.body.trim() === "" ? body : done).focus();
}

/** Opens the archive. commands: { restoreCard(id), deleteCard(id) }. Returns a function that draws a newer state. */
export function openArchive(state, commands) {
  const list = html("ul", {});
  const heading = html("h2", { textContent: "Archive" });
  const dialog = html("dialog", { ariaLabel: "Archive" }, html("div", { className: "inside archive" }, heading, list));
  const draw = (next) => {
    const rows = archived(next).map((card) => {
      const restore = html("button", { type: "button", textContent: "Restore" });
      const remove = html("button", { type: "button", textContent: "Delete for good" });
      restore.addEventListener("click", () => commands.restoreCard(card.id));
      remove.addEventListener("click", () => commands.deleteCard(card.id));
      return html("li", {}, html("span", { textContent: card.title }), restore, remove);
    });
    list.replaceChildren(...(rows.length ? rows : [html("li", { textContent: "Nothing is archived." })]));
  };
  draw(state);
  open(dialog, () => dialog.remove());
  return (next) => dialog.isConnected && draw(next);
}

function open(dialog, close) {
  dialog.addEventListener("cancel", (event) => {
    event.preventDefault();
    close();
  });
  dialog.addEventListener("keydown", (event) => event.key === "Escape" && event.stopPropagation());
  dialog.addEventListener("pointerdown", (event) => event.target === dialog && close());
  const back = document.activeElement;
  dialog.addEventListener("close", () => back?.focus?.());
  document.body.append(dialog);
  dialog.showModal();
}
