// Dragging cards and columns with the pointer: mouse, pen and finger alike. A press becomes a drag after a few pixels, so a
// click stays a click. Escape, or anything that takes the pointer away, puts everything back.

const THRESHOLD = 5; // pixels
const EDGE = 40; // pixels from an edge at which the lanes scroll by themselves

/** commands: { moveCard(id, column, index), moveColumn(id, index) } */
export function enableDrag(lanes, commands) {
  lanes.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || event.target.closest("button, input, textarea, a, .field")) return;
    const card = event.target.closest(".card");
    const lane = event.target.closest(".lane .head")?.parentElement;
    if (card) press(event, new CardDrag(lanes, card, commands));
    else if (lane) press(event, new LaneDrag(lanes, lane, commands));
  });
}

function press(down, drag) {
  const id = down.pointerId;
  const move = (event) => {
    if (event.pointerId !== id) return;
    if (!drag.active) {
      if (Math.hypot(event.clientX - down.clientX, event.clientY - down.clientY) < THRESHOLD) return;
      drag.begin(down);
    }
    event.preventDefault();
    drag.over(event.clientX, event.clientY);
  };
  const end = (drop) => (event) => {
    if (event.pointerId !== undefined && event.pointerId !== id) return;
    if (event.type === "keydown" && event.key !== "Escape") return;
    if (event.type === "blur" && event.target !== window) return; // only a field in the page lost the focus
    for (const [type, handler] of handlers) window.removeEventListener(type, handler, true);
    if (!drag.active) return;
    event.stopPropagation();
    swallowClick();
    drag.end(drop);
  };
  const handlers = [["pointermove", move], ["pointerup", end(true)], ["pointercancel", end(false)], ["keydown", end(false)], ["blur", end(false)]];
  for (const [type, handler] of handlers) window.addEventListener(type, handler, true);
}

/** The click that follows the release of a drag is not one. */
function swallowClick() {
  const swallow = (click) => click.stopPropagation();
  window.addEventListener("click", swallow, { capture: true, once: true });
  setTimeout(() => window.removeEventListener("click", swallow, true), 0);
}

/** What cards and columns have in common: the picture under the pointer and the slot where it would land. */
class Drag {
  active = false;

  constructor(lanes, node, commands) {
    Object.assign(this, { lanes, node, commands });
    this.slot = this.makeSlot();
  }

  begin(down) {
    const box = this.node.getBoundingClientRect();
    this.active = true;
    this.grip = { x: down.clientX - box.left, y: down.clientY - box.top };
    this.ghost = this.node.cloneNode(true);
    this.ghost.classList.add("ghost");
    this.ghost.style.width = `${box.width}px`;
    this.ghost.style.maxHeight = `${box.height}px`;
    document.body.append(this.ghost);
    this.node.classList.add("lifted");
  }

  over(x, y) {
    this.ghost.style.left = `${x - this.grip.x}px`;
    this.ghost.style.top = `${y - this.grip.y}px`;
    const box = this.lanes.getBoundingClientRect();
    if (x < box.left + EDGE) this.lanes.scrollLeft -= 12;
    if (x > box.right - EDGE) this.lanes.scrollLeft += 12;
    this.place(x, y);
  }

  end(drop) {
    const target = drop && this.slot.isConnected ? this.target() : undefined;
    this.slot.remove();
    this.ghost.remove();
    this.node.classList.remove("lifted");
    if (target) this.send(target);
  }
}

class CardDrag extends Drag {
  makeSlot() {
    return Object.assign(document.createElement("li"), { className: "slot" });
  }

  place(x, y) {
    const lane = [...this.lanes.querySelectorAll(".lane")].find((node) => inside(x, node.getBoundingClientRect()));
    if (!lane) return this.slot.remove();
    const list = lane.querySelector("ol");
    const box = list.getBoundingClientRect();
    if (y < box.top + EDGE) list.scrollTop -= 8;
    if (y > box.bottom - EDGE) list.scrollTop += 8;
    const before = [...list.querySelectorAll(".card:not(.lifted)")].find((card) => y < middle(card.getBoundingClientRect()).y);
    list.insertBefore(this.slot, before ?? null);
  }

  target() {
    const list = this.slot.parentElement;
    const above = [...list.children].slice(0, [...list.children].indexOf(this.slot));
    return { column: list.parentElement.dataset.column, index: above.filter((node) => node.matches(".card:not(.lifted)")).length };
  }

  send({ column, index }) {
    this.commands.moveCard(this.node.dataset.card, column, index);
  }
}

class LaneDrag extends Drag {
  makeSlot() {
    return Object.assign(document.createElement("div"), { className: "slot upright" });
  }

  place(x) {
    const before = [...this.lanes.querySelectorAll(".lane:not(.lifted)")].find((lane) => x < middle(lane.getBoundingClientRect()).x);
    this.lanes.insertBefore(this.slot, before ?? this.lanes.querySelector(".newlane"));
  }

  target() {
    const before = [...this.lanes.children].slice(0, [...this.lanes.children].indexOf(this.slot));
    return { index: before.filter((node) => node.matches(".lane:not(.lifted)")).length };
  }

  send({ index }) {
    this.commands.moveColumn(this.node.dataset.column, index);
  }
}

const inside = (x, box) => x >= box.left - 6 && x <= box.right + 6;
const middle = (box) => ({ x: box.left + box.width / 2, y: box.top + box.height / 2 });
