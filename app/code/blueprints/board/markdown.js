// Markdown to DOM nodes. Text from a card never becomes HTML: every node is made here.
// Known: headings, paragraphs, lists, boxes to tick, quotes, code, rules; bold, italic, struck, code, links.

/** Renders source into a fragment. onTick(n), if given, is called when the nth box is clicked. */
export function render(source, onTick) {
  const lines = source.replace(/\r\n?/g, "\n").split("\n");
  const state = { boxes: 0, onTick };
  const out = document.createDocumentFragment();
  let i = 0;
  while (i < lines.length) i = block(lines, i, out, state);
  return out;
}

const LIST = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;

function block(lines, i, out, state) {
  const line = lines[i];
  let match;
  if (/^\s*$/.test(line)) return i + 1;
  if ((match = /^```/.exec(line))) return fence(lines, i, out);
  if ((match = /^(#{1,4})\s+(.*)$/.exec(line))) {
    out.append(element("h" + (match[1].length + 2), inline(match[2])));
    return i + 1;
  }
  if (/^\s*([-*_])(\s*\1){2,}\s*$/.test(line)) {
    out.append(document.createElement("hr"));
    return i + 1;
  }
  if (/^>\s?/.test(line)) return quote(lines, i, out, state);
  if (LIST.test(line)) return list(lines, i, out, state);
  return paragraph(lines, i, out);
}

function fence(lines, i, out) {
  const text = [];
  for (i += 1; i < lines.length && !/^```/.test(lines[i]); i += 1) text.push(lines[i]);
  out.append(element("pre", [element("code", [text.join("\n")])]));
  return i + 1;
}

function quote(lines, i, out, state) {
  const inner = [];
  for (; i < lines.length && /^>\s?/.test(lines[i]); i += 1) inner.push(lines[i].replace(/^>\s?/, ""));
  const node = document.createElement("blockquote");
  for (let k = 0; k < inner.length; ) k = block(inner, k, node, { ...state, onTick: undefined });
  out.append(node);
  return i;
}

function list(lines, i, out, state) {
  const indent = LIST.exec(lines[i])[1].length;
  const ordered = /\d/.test(LIST.exec(lines[i])[2]);
  const node = document.createElement(ordered ? "ol" : "ul");
  while (i < lines.length) {
    const match = LIST.exec(lines[i]);
    if (!match || match[1].length < indent) break;
    if (match[1].length > indent && node.lastChild) {
      i = list(lines, i, node.lastChild, state);
      continue;
    }
    node.append(item(match[3], state));
    i += 1;
  }
  out.append(node);
  return i;
}

function item(text, state) {
  const box = /^\[([ xX])\]\s+(.*)$/.exec(text);
  if (!box) return element("li", inline(text));
  const nth = state.boxes++;
  const input = document.createElement("input");
  input.type = "checkbox";
  input.checked = box[1] !== " ";
  input.disabled = !state.onTick;
  input.addEventListener("change", () => state.onTick?.(nth));
  const label = element("label", [input, element("span", inline(box[2]))]);
  const node = element("li", [label]);
  node.className = "task";
  return node;
}

function paragraph(lines, i, out) {
  const text = [];
  for (; i < lines.length && !/^\s*$|^```|^#{1,4}\s|^>/.test(lines[i]) && !LIST.test(lines[i]); i += 1) text.push(lines[i]);
  const node = document.createElement("p");
  text.forEach((line, n) => {
    if (n > 0) node.append(document.createElement("br"));
    node.append(...inline(line));
  });
  out.append(node);
  return i;
}

// One alternative for each kind; the first that matches at a place wins.
const INLINE = /`([^`]+)`|\*\*(.+?)\*\*|__(.+?)__|\*([^*\s][^*]*?)\*|\b_([^_]+?)_\b|~~(.+?)~~|\[([^\]]+)\]\((\S+?)\)|(https?:\/\/[^\s<>()]+[^\s<>().,;:!?'"])/;

function inline(text) {
  const nodes = [];
  for (let match; (match = INLINE.exec(text)); text = text.slice(match.index + match[0].length)) {
    if (match.index > 0) nodes.push(text.slice(0, match.index));
    nodes.push(span(match));
  }
  if (text) nodes.push(text);
  return nodes;
}

function span([whole, code, bold, bold2, italic, italic2, struck, label, href, address]) {
  if (code) return element("code", [code]);
  if (bold ?? bold2) return element("strong", inline(bold ?? bold2));
  if (italic ?? italic2) return element("em", inline(italic ?? italic2));
  if (struck) return element("s", inline(struck));
  return link(address ?? href, address ? [address] : inline(label), whole);
}

function link(href, content, whole) {
  if (!/^(https?|mailto):/i.test(href)) return document.createTextNode(whole);
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
