import { RpcTarget } from "capnweb";
import type { Blueprint } from "./api.gen";
import type { FakeKind } from "./fake";

/** Sample blueprints for the fake kernel: one board that works, and views that only stand there. */

const frame = (body: string) => `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 320 200">
<style>.p{fill:#F3F0EB}.s{fill:#fff;stroke:#DDD8D0}.l{stroke:#BDB6AB;stroke-width:5;stroke-linecap:round;fill:none}.h{stroke:#4A433C;stroke-width:6;stroke-linecap:round;fill:none}.a{fill:#C2410C}.as{stroke:#C2410C;stroke-width:5;stroke-linecap:round;fill:none}.m{fill:#E4DED5}
@media(prefers-color-scheme:dark){.p{fill:#262320}.s{fill:#312D29;stroke:#45403B}.l{stroke:#6F675E}.h{stroke:#D8D2C9}.a{fill:#FB923C}.as{stroke:#FB923C}.m{fill:#3B3631}}</style>
<rect class="p" width="320" height="200"/>${body}</svg>`;

const card = (x: number, y: number, h: number) => `<rect class="s" x="${x}" y="${y}" width="76" height="${h}" rx="6"/><path class="l" d="M${x + 12} ${y + 16}h44"/>${h > 36 ? `<path class="l" d="M${x + 12} ${y + 32}h28"/>` : ""}`;
const column = (x: number) => `<path class="h" d="M${x} 36h40"/>`;

const drawings: Record<string, string> = {
  board: frame(
    [28, 122, 216].map(column).join("") + card(26, 54, 46) + card(26, 110, 32) + card(122, 54, 32) + card(216, 54, 46) + `<g transform="rotate(4 160 130)">${card(126, 104, 46)}<circle class="a" cx="190" cy="140" r="5"/></g>`,
  ),
  document: frame(`<rect class="s" x="84" y="24" width="152" height="190" rx="6"/><path class="h" d="M104 52h72"/><path class="l" d="M104 80h112M104 98h104M104 116h112M104 134h64"/><path class="as" d="M104 162h88"/>`),
  sheet: frame(
    `<rect class="s" x="40" y="36" width="240" height="132" rx="6"/><path class="m" d="M40 42a6 6 0 0 1 6-6h228a6 6 0 0 1 6 6v22H40z"/>` +
      [0, 1, 2].map((r) => `<path class="l" d="M56 ${84 + r * 32}h36M136 ${84 + r * 32}h28M216 ${84 + r * 32}h${r === 1 ? 20 : 40}"/>`).join("") +
      `<rect x="122" y="100" width="78" height="32" fill="none" stroke="#C2410C" stroke-width="3" class="as"/>`,
  ),
  poll: frame(`<path class="h" d="M60 48h96"/><rect class="m" x="60" y="72" width="200" height="20" rx="5"/><rect class="a" x="60" y="72" width="136" height="20" rx="5"/><rect class="m" x="60" y="104" width="200" height="20" rx="5"/><rect class="l" x="62" y="106" width="60" height="16" rx="4"/><rect class="m" x="60" y="136" width="200" height="20" rx="5"/>`),
  whiteboard: frame(`<path class="h" d="M60 132c26-84 52-84 60-20s34 40 52-12"/><rect class="s" x="190" y="48" width="68" height="48" rx="6"/><path class="as" d="M208 128l18 24 34-44"/><circle class="l" cx="92" cy="70" r="22"/>`),
  notes: frame(`<rect class="s" x="44" y="32" width="96" height="136" rx="6"/><path class="h" d="M60 54h44"/><path class="l" d="M60 76h60M60 94h52M60 112h60"/><rect class="s" x="158" y="32" width="118" height="60" rx="6"/><path class="as" d="M174 54h40"/><path class="l" d="M174 74h76"/><rect class="s" x="158" y="106" width="118" height="62" rx="6"/><path class="l" d="M174 128h76M174 148h40"/>`),
};

const words: [string, string, string][] = [
  ["board", "Board", "Columns and cards for what is to do, in progress and done."],
  ["document", "Document", "Write with headings, lists and pictures."],
  ["sheet", "Sheet", "Rows, columns and formulas."],
  ["whiteboard", "Whiteboard", "Draw and arrange ideas freely."],
  ["poll", "Poll", "Ask a question and count the answers."],
  ["notes", "Notes", "Short notes, found again at once."],
];

export function blueprint(name: string): Blueprint {
  const [, title, description] = words.find((w) => w[0] === name)!;
  return { name, title, description, thumbnail: drawings[name]! };
}

type Card = { id: number; column: number; text: string };
type Watcher = ((cards: Card[]) => unknown) & { dup?(): Watcher };

class BoardServer extends RpcTarget {
  #cards: Card[] = ["0Order larch boards for the bench", "0Ask Jonas about the router plane", "0Sharpen the chisels", "1Dovetail the drawer fronts", "1Oil the workbench top", "2Fix the lamp over the door", "2Label the screw drawers"].map(
    (line, id) => ({ id, column: Number(line[0]), text: line.slice(1) }),
  );
  #watchers = new Set<Watcher>();

  constructor(private log: (level: "info" | "log" | "warn" | "error", text: string) => void) {
    super();
    log("info", `board ready: ${this.#cards.length} cards in 3 columns`);
  }
  watch(onCards: Watcher): void {
    this.#watchers.add(onCards.dup?.() ?? onCards);
    void onCards(this.#cards);
    this.log("log", `watch: ${this.#watchers.size} views`);
  }
  add(column: number, text: string): void {
    this.#cards.push({ id: Date.now(), column, text });
    this.#tell(`add "${text}"`);
  }
  move(id: number, column: number): void {
    const card = this.#cards.find((c) => c.id === id);
    if (!card) throw new RangeError(`no card ${id}`);
    card.column = column;
    this.#tell(`move ${id} to column ${column}`);
  }
  #tell(what: string): void {
    this.log("log", what);
    for (const watcher of this.#watchers) Promise.resolve(watcher(this.#cards)).catch(() => this.#watchers.delete(watcher));
  }
}

const boardClient = `
const style = document.createElement("style");
style.textContent = \`
:root{color-scheme:light dark;--page:#fff;--col:#F6F4F1;--card:#fff;--line:#E7E4DF;--ink:#1F1D1A;--muted:#6B665E;--accent:#C2410C}
:root[data-theme=dark]{--page:#1E1C1A;--col:#181715;--card:#262421;--line:#35322E;--ink:#ECE9E4;--muted:#A09A91;--accent:#FB923C}
*{box-sizing:border-box}body{margin:0;height:100vh;background:var(--page);color:var(--ink);font:13px/20px system-ui,sans-serif}
main{display:flex;gap:16px;padding:20px;height:100%;overflow:auto}section{flex:1;min-width:150px;max-width:300px;background:var(--col);border-radius:10px;padding:12px;display:flex;flex-direction:column;gap:8px;align-self:flex-start}
h2{font-size:13px;margin:0 4px 2px;display:flex;justify-content:space-between}h2 span{color:var(--muted);font-weight:400}
article{background:var(--card);border:1px solid var(--line);border-radius:6px;padding:8px 10px;cursor:grab}
form,input{width:100%}input{font:inherit;color:inherit;background:transparent;border:1px dashed var(--line);border-radius:6px;padding:6px 10px}
input:focus,article:focus-visible{outline:2px solid var(--accent);border-color:transparent}a{color:var(--accent)}\`;
document.head.append(style);
const names = ["To do", "In progress", "Done"];
const main = document.createElement("main");
const columns = names.map((name, index) => {
  const section = document.createElement("section");
  section.setAttribute("aria-label", name);
  section.innerHTML = "<h2></h2><div style='display:contents'></div><input placeholder='Add a card' aria-label='Add a card'>";
  const input = section.querySelector("input");
  input.onkeydown = (e) => { if (e.key === "Enter" && input.value) { gadget.add(index, input.value); input.value = ""; } };
  section.ondragover = (e) => e.preventDefault();
  section.ondrop = (e) => gadget.move(Number(e.dataTransfer.getData("text")), index);
  main.append(section);
  return section;
});
function show(cards) {
  columns.forEach((section, index) => {
    const own = cards.filter((c) => c.column === index);
    section.querySelector("h2").innerHTML = names[index] + "<span>" + own.length + "</span>";
    section.querySelector("div").replaceChildren(...own.map((card) => {
      const article = document.createElement("article");
      article.textContent = card.text; article.draggable = true; article.tabIndex = 0;
      article.ondragstart = (e) => e.dataTransfer.setData("text", card.id);
      article.onkeydown = (e) => { if (e.key === "ArrowRight" && index < 2) gadget.move(card.id, index + 1); };
      return article;
    }));
  });
}
await gadget.watch(show);
document.body.append(main);
console.log("view ready", { columns: names.length });
`;

export const boardKind: FakeKind = { blueprint: blueprint("board"), client: boardClient, server: (log) => new BoardServer(log) };

class Nothing extends RpcTarget {}

const link = `document.body.innerHTML = '<p style="font:15px system-ui;padding:24px"><a target="_blank" href="https://example.com/joinery?page=2&from=toolshed">Read about joinery</a></p>';`;

/** A kind whose view shows a link, for each other drawing. */
export const otherKinds: FakeKind[] = ["document", "sheet", "whiteboard", "poll", "notes"].map((name) => ({
  blueprint: blueprint(name),
  client: link,
  server: () => new Nothing(),
}));

export const brokenKind: FakeKind = {
  blueprint: { ...blueprint("notes"), name: "broken", title: "Broken" },
  client: `console.warn("about to fail");\nconst notes = undefined;\nnotes.map((n) => n.text);`,
  server: () => new Nothing(),
};
