// Small things that every part of the page uses.

/** Makes an element with properties and children. */
export function html(name, properties = {}, ...children) {
  const node = Object.assign(document.createElement(name), properties);
  node.append(...children);
  return node;
}

const paths = {
  plus: "M8 3v10M3 8h10",
  pin: "M6 2.5h4l-.5 4 2.5 2.5H4l2.500-2.500zM8 9v4.500",
  clip: "M13 7.500 7.900 12.600a3 3 0 0 1-4.300-4.300l5.400-5.400a2 2 0 0 1 2.900 2.900L6.600 11a1 1 0 0 1-1.500-1.400L9.800 5",
  save: "M8 2.500v7.500M4.800 7 8 10.200 11.200 7M3 13.500h10",
  bin: "M3 4.500h10M6.500 4.500v-2h3v2M4.500 4.500l.6 9h5.800l.6-9",
  back: "M9.500 3.500 5 8l4.500 4.500",
  file: "M4 2.500h5l3 3v8H4zM9 2.500v3h3",
};

/** An icon, 16 by 16, that a screen reader passes over. */
export function icon(name) {
  const make = (tag, attributes) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    return node;
  };
  const svg = make("svg", { viewBox: "0 0 16 16", class: "icon", "aria-hidden": "true" });
  svg.append(make("path", { d: paths[name] }));
  return svg;
}

/** A button with an icon, named label. */
export function tool(name, label, act) {
  const button = html("button", { type: "button", className: "tool", title: label, ariaLabel: label }, icon(name));
  button.addEventListener("click", act);
  return button;
}

/** Says something at the foot of the page for a while, with a button if there is something to do about it. */
export function toast(text, label, act) {
  document.querySelector(".toast")?.remove();
  const node = html("div", { className: "toast", role: "status" }, html("span", { textContent: text }));
  if (label) {
    const button = html("button", { type: "button", textContent: label });
    button.addEventListener("click", () => {
      node.remove();
      act();
    });
    node.append(button);
  }
  document.body.append(node);
  setTimeout(() => node.remove(), label ? 10_000 : 6_000);
}

/** How long ago a time was, in a word or two; older ones as a date. */
export function ago(time, now = Date.now()) {
  const minutes = Math.floor((now - time) / 60_000);
  if (minutes < 1) return "now";
  if (minutes < 60) return `${minutes} min`;
  const then = new Date(time);
  if (then.toDateString() === new Date(now).toDateString()) return then.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  const year = then.getFullYear() === new Date(now).getFullYear() ? undefined : "numeric";
  return then.toLocaleDateString([], { day: "numeric", month: "short", year });
}

export function sizeOf(bytes) {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 * 1024) return `${Math.round(bytes / 1024)} KB`;
  return `${Math.ceil((10 * bytes) / (1024 * 1024)) / 10} MB`; // up, so that what passes a limit never seems to be at it
}

/** Offers a file to be saved: the shell asks the person. */
export function download(name, blob) {
  const address = URL.createObjectURL(blob);
  html("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
