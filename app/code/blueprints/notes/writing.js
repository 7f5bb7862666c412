// What is done to a text field: typing for the person, in a way that the browser's own undo knows of, and replacing the
// text while the caret stays with its words.

/** Puts a text in place of what stands there; the caret stays with the words it was at. */
export function replaceText(area, text) {
  const { value, selectionStart, selectionEnd, scrollTop } = area;
  if (value === text) return;
  let head = 0;
  while (head < value.length && value[head] === text[head]) head += 1;
  let tail = 0;
  while (tail < value.length - head && tail < text.length - head && value[value.length - 1 - tail] === text[text.length - 1 - tail]) tail += 1;
  const moved = (at) => (at <= head ? at : at >= value.length - tail ? at + text.length - value.length : Math.min(at, text.length - tail));
  area.value = text;
  area.setSelectionRange(moved(selectionStart), moved(selectionEnd));
  area.scrollTop = scrollTop;
}

/** Types a text over the selection. */
export function type(area, text) {
  area.focus();
  if (document.activeElement === area && document.execCommand("insertText", false, text)) return;
  area.setRangeText(text, area.selectionStart, area.selectionEnd, "end"); // it is not shown, so it has no focus
  area.dispatchEvent(new Event("input"));
}

/** Puts lines below the line of the caret; whoever types there goes on where they were. */
export function typeBelow(area, text) {
  const { selectionStart, value } = area;
  const end = value.indexOf("\n", selectionStart) < 0 ? value.length : value.indexOf("\n", selectionStart);
  const blank = value.slice(value.lastIndexOf("\n", selectionStart - 1) + 1, end).trim() === "";
  const typing = document.activeElement === area;
  const there = document.activeElement;
  area.setSelectionRange(end, end);
  type(area, blank ? `${text}\n` : `\n\n${text}\n`);
  if (blank) return;
  if (typing) area.setSelectionRange(selectionStart, selectionStart);
  else if (there !== document.body) there?.focus({ preventScroll: true });
}

/** Puts marks around the selection. */
export function wrap(area, mark) {
  const { selectionStart, selectionEnd, value } = area;
  type(area, mark + value.slice(selectionStart, selectionEnd) + mark);
  area.setSelectionRange(selectionStart + mark.length, selectionEnd + mark.length);
}

/** Enter at the end of a list item begins the next one; in an empty item it ends the list. Returns whether it was one. */
export function continueList(area) {
  const { selectionStart, selectionEnd, value } = area;
  const from = value.lastIndexOf("\n", selectionStart - 1) + 1;
  const match = /^(\s*)(?:([-*+])|(\d{1,8})([.)]))(\s+)(\[[ xX]\]\s+)?(.*)$/.exec(value.slice(from, selectionStart));
  if (selectionStart !== selectionEnd || !match) return false;
  const [, indent, bullet, number, point, space, box, text] = match;
  if (text === "") {
    area.setSelectionRange(from, selectionStart);
    document.execCommand("delete");
  } else type(area, `\n${indent}${bullet ?? Number(number) + 1 + point}${space}${box ? "[ ] " : ""}`);
  return true;
}

/** Moves the lines of the selection in or out by two spaces; only in a list, so that elsewhere Tab moves the focus. */
export function indent(area, out) {
  const { selectionStart, selectionEnd, value } = area;
  const from = value.lastIndexOf("\n", selectionStart - 1) + 1;
  const end = value.indexOf("\n", selectionEnd) < 0 ? value.length : value.indexOf("\n", selectionEnd);
  const lines = value.slice(from, end).split("\n");
  if (!/^\s*(?:[-*+]|\d{1,9}[.)])\s/.test(lines[0])) return false;
  const next = lines.map((line) => (out ? line.replace(/^ {1,2}/, "") : "  " + line));
  area.setSelectionRange(from, end);
  type(area, next.join("\n"));
  const first = next[0].length - lines[0].length;
  area.setSelectionRange(Math.max(from, selectionStart + first), Math.max(from, selectionEnd + next.join("\n").length - (end - from)));
  return true;
}
