// Markdown to DOM nodes. What someone wrote never becomes HTML: every node is made here, and every address is checked.
// Known: headings, paragraphs, lists, boxes to tick, tables, quotes, code, rules; bold, italic, struck, code, links,
// #tags, and attachments as images or chips. Board and Notes hold the same file.

const deepest = 12; // levels of quotes and lists within each other; what is deeper is shown as text

/**
 * Renders source into a fragment, with headings from on.top (1 to 6). on.tick(line) is called when the box on that line of
 * the source is clicked, on.tag(tag) when a tag is; on.attachment(id, name, asImage) returns the node that stands for an
 * attachment. What is missing in on is shown and does nothing.
 */
export function render(source, on = {}) {
  const lines = source.split("\n").map((text, number) => ({ text: text.replace(/\r$/, ""), number }));
  const out = document.createDocumentFragment();
  blocks(lines, out, on, 0);
  return out;
}

const LIST = /^(\s*)([-*+]|\d{1,9}[.)])(\s+)(.*)$/;
const RULE = /^\s{0,3}([-*_])(\s*\1){2,}\s*$/;
const ROW = /^\s*\|?[\s:]*-+[\s:|-]*$/;

function blocks(lines, out, on, depth) {
  for (let i = 0; i < lines.length; ) i = block(lines, i, out, on, depth);
}

function block(lines, i, out, on, depth) {
  const { text } = lines[i];
  if (/^\s*$/.test(text)) return i + 1;
  const fenced = /^\s*(```+|~~~+)(.*)$/.exec(text);
  if (fenced) return fence(lines, i, out, on, fenced[1]);
  const heading = /^(#{1,6})\s+(.*?)\s*#*$/.exec(text);
  if (heading) {
    out.append(element("h" + Math.min(6, heading[1].length + (on.top ?? 1) - 1), inline(heading[2], on)));
    return i + 1;
  }
  if (RULE.test(text)) {
    out.append(element("hr", []));
    return i + 1;
  }
  if (depth < deepest && /^\s{0,3}>/.test(text)) return quote(lines, i, out, on, depth);
  if (depth < deepest && LIST.test(text)) return list(lines, i, out, on, depth);
  if (text.includes("|") && ROW.test(lines[i + 1]?.text ?? "") && lines[i + 1].text.includes("-")) return table(lines, i, out, on);
  return paragraph(lines, i, out, on);
}

function fence(lines, i, out, on, mark) {
  const text = [];
  for (i += 1; i < lines.length && !lines[i].text.trimStart().startsWith(mark); i += 1) text.push(lines[i].text);
  const pre = element("pre", [element("code", [text.join("\n")])]);
  if (on.tick) pre.tabIndex = 0; // a long line scrolls; the keyboard must reach it
  out.append(pre);
  return i + 1;
}

function quote(lines, i, out, on, depth) {
  const inner = [];
  for (; i < lines.length && /^\s{0,3}>/.test(lines[i].text); i += 1) inner.push({ ...lines[i], text: lines[i].text.replace(/^\s{0,3}>\s?/, "") });
  const node = element("blockquote", []);
  blocks(inner, node, on, depth + 1);
  out.append(node);
  return i;
}

function list(lines, i, out, on, depth) {
  const first = LIST.exec(lines[i].text);
  const ordered = /\d/.test(first[2]);
  const node = element(ordered ? "ol" : "ul", []);
  if (ordered) node.start = parseInt(first[2], 10);
  while (i < lines.length) {
    const match = LIST.exec(lines[i].text);
    if (!match || match[1].length > first[1].length + 3 || /\d/.test(match[2]) !== ordered || RULE.test(lines[i].text)) break;
    const inner = [{ ...lines[i], text: match[4] }];
    const { number } = lines[i];
    const indent = match[1].length;
    for (i += 1; i < lines.length; i += 1) {
      const { text } = lines[i];
      const own = /^\s*/.exec(text)[0].length;
      const blank = own === text.length;
      const after = inner[inner.length - 1].text;
      if (blank ? /^\s*$/.test(lines[i + 1]?.text ?? "") : own <= indent && (LIST.test(text) || after === "" || startsBlock(text))) break;
      inner.push({ ...lines[i], text: blank ? "" : text.slice(Math.min(own, indent + 2)) });
    }
    node.append(item(inner, number, on, depth));
    while (i < lines.length && /^\s*$/.test(lines[i].text) && LIST.test(lines[i + 1]?.text ?? "")) i += 1;
  }
  out.append(node);
  return i;
}

function item(inner, number, on, depth) {
  const box = /^\[([ xX])\]\s+(.*)$/.exec(inner[0].text);
  const node = element("li", []);
  const text = box ? box[2] : inner[0].text;
  const nested = inner.slice(1);
  let head = 0; // lines of the item's own text, up to where something else begins
  while (head < nested.length && nested[head].text !== "" && !startsBlock(nested[head].text)) head += 1;
  const own = inline([text, ...nested.slice(0, head).map((line) => line.text.trim())].join(" "), on);
  if (box) {
    const input = element("input", []);
    input.type = "checkbox";
    input.checked = box[1] !== " ";
    input.disabled = !on.tick;
    input.dataset.line = number;
    input.addEventListener("change", () => on.tick?.(number));
    const words = element("span", own);
    // A link or a chip inside keeps its own click, so the text is not a label; the box is named after it instead.
    input.ariaLabel = words.textContent || "Task";
    node.append(input, words);
    node.className = input.checked ? "task done" : "task";
  } else node.append(...own);
  const rest = element("div", []);
  blocks(nested.slice(head), rest, on, depth + 1);
  if (rest.childNodes.length) node.append(rest);
  return node;
}

function startsBlock(text) {
  return LIST.test(text) || /^\s*(```|~~~|>|#{1,6}\s)/.test(text);
}

function table(lines, i, out, on) {
  const head = cells(lines[i].text);
  const sides = cells(lines[i + 1].text).map((cell) => (/^:.*:$/.test(cell) ? "center" : /:$/.test(cell) ? "right" : ""));
  const row = (name, texts) =>
    element("tr", head.map((_, n) => {
      const cell = element(name, inline(texts[n] ?? "", on));
      if (sides[n]) cell.style.textAlign = sides[n];
      return cell;
    }));
  const body = element("tbody", []);
  const top = element("thead", [row("th", head)]);
  for (i += 2; i < lines.length && lines[i].text.includes("|"); i += 1) body.append(row("td", cells(lines[i].text)));
  const frame = element("div", [element("table", [top, body])]);
  frame.className = "table";
  if (on.tick) frame.tabIndex = 0;
  frame.role = "group";
  frame.ariaLabel = "Table";
  out.append(frame);
  return i;
}

function cells(text) {
  return text.trim().replace(/^\||\|$/g, "").split("|").slice(0, 50).map((cell) => cell.trim());
}

function paragraph(lines, i, out, on) {
  const node = element("p", []);
  const first = i;
  for (; i < lines.length && (i === first || (!/^\s*$/.test(lines[i].text) && !startsBlock(lines[i].text) && !RULE.test(lines[i].text))); i += 1) {
    if (i > first) node.append(element("br", []));
    node.append(...inline(lines[i].text, on));
  }
  out.append(node);
  return i;
}

// One alternative for each kind; the first that matches at a place wins. Every part is bounded, so that a hostile line
// costs time in proportion to its length.
const INLINE =
  /\\([\\`*_~[\]()#!|>-])|`([^`]{1,400})`|\*\*(\S.{0,400}?)\*\*|__(\S.{0,400}?)__|\*([^*\s][^*]{0,400}?)\*|\b_([^_]{1,400}?)_\b|~~(.{1,400}?)~~|(!?)\[([^\]]{0,400})\]\(([^\s()]{1,2000})\)|(https?:\/\/[^\s<>()]{1,2000}[^\s<>().,;:!?'"])|(?<![\p{L}\p{N}_&/])#([\p{L}\p{N}][\p{L}\p{N}_/-]{0,49})/u;

function inline(text, on, depth = 0) {
  if (depth > 6) return [text];
  const nodes = [];
  const finder = new RegExp(INLINE, "gu");
  let at = 0;
  for (let match; (match = finder.exec(text)); at = finder.lastIndex) {
    if (match.index > at) nodes.push(text.slice(at, match.index));
    nodes.push(span(match, on, depth + 1));
  }
  if (at < text.length) nodes.push(text.slice(at));
  return nodes;
}

function span([whole, escaped, code, bold, bold2, italic, italic2, struck, image, label, href, address, tag], on, depth) {
  if (escaped) return escaped;
  if (code) return element("code", [code]);
  if (bold ?? bold2) return element("strong", inline(bold ?? bold2, on, depth));
  if (italic ?? italic2) return element("em", inline(italic ?? italic2, on, depth));
  if (struck) return element("s", inline(struck, on, depth));
  if (tag) return !on.tag || /^\d+$/.test(tag) ? whole : tagged(tag, on);
  const attachment = /^attachment:([\w-]{1,64})$/.exec(href ?? "");
  if (attachment) return on.attachment?.(attachment[1], label, image === "!") ?? whole;
  return link(address ?? href, address ? [address] : image ? [label || href] : inline(label, on, depth), whole);
}

function tagged(tag, on) {
  const node = element("button", ["#" + tag]);
  node.type = "button";
  node.className = "tag";
  node.addEventListener("click", () => on.tag(tag.toLowerCase()));
  return node;
}

function link(href, content, whole) {
  if (!/^(https?|mailto):/i.test(href)) return whole;
  const a = element("a", content);
  a.href = href;
  a.target = "_blank"; // the shell shows the address and asks before anything opens
  a.rel = "noreferrer";
  return a;
}

function element(name, children) {
  const node = document.createElement(name);
  node.append(...children);
  return node;
}
