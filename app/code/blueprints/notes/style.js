// The look: warm paper and ink, one ember, following the system's light or dark.

export const style = `
:root {
  color-scheme: light dark;
  --page: light-dark(#faf9f7, #161513); --surface: light-dark(#ffffff, #1e1c1a); --lane: light-dark(#f3f1ed, #1a1917);
  --line: light-dark(#e7e4df, #2e2b28); --ink: light-dark(#1f1d1a, #ece9e4); --muted: light-dark(#6b665e, #a09a91);
  --accent: light-dark(#c2410c, #fb923c); --on-accent: light-dark(#ffffff, #161513); --good: light-dark(#15803d, #4ade80);
  --bad: light-dark(#b91c1c, #f87171); --hit: light-dark(#fde3cf, #5a3517);
  --shadow: 0 8px 24px light-dark(rgb(60 40 20 / .16), rgb(0 0 0 / .5));
  --cross: url("data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16' stroke='%23000' stroke-width='1.5' stroke-linecap='round'%3E%3Cpath d='M4.5 4.5l7 7M11.5 4.5l-7 7'/%3E%3C/svg%3E");
  --mono: ui-monospace, Menlo, Consolas, monospace;
  font: 400 13px/1.45 "Inter Variable", Inter, system-ui, sans-serif;
}
* { box-sizing: border-box; }
[hidden] { display: none !important; }
html, body { height: 100%; margin: 0; }
body { background: var(--page); color: var(--ink); display: grid; grid-template: 100% / minmax(220px, 280px) minmax(0, 1fr); overflow: hidden; }
button, input, textarea { font: inherit; color: inherit; }
button { border: 0; background: none; cursor: pointer; border-radius: 6px; padding: 4px 8px; }
button:hover { background: var(--line); }
:focus { outline: none; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
.icon { width: 16px; height: 16px; flex: none; fill: none; stroke: currentColor; stroke-width: 1.5; stroke-linecap: round; stroke-linejoin: round; }
.muted { color: var(--muted); }
.primary { background: var(--accent); color: var(--on-accent); font-weight: 550; padding: 6px 14px; }
.primary:hover { background: color-mix(in srgb, var(--accent) 88%, var(--ink)); }
.quiet { color: var(--muted); } .danger { color: var(--bad); font-weight: 550; }

.side { display: flex; flex-direction: column; min-height: 0; background: var(--lane); border-right: 1px solid var(--line); }
.top { display: flex; gap: 8px; padding: 12px 12px 8px; }
.search { flex: 1; min-width: 0; height: 32px; padding: 0 10px; border: 1px solid var(--line); border-radius: 6px; background: var(--surface); }
.search::placeholder { color: var(--muted); opacity: 1; }
.search::-webkit-search-cancel-button { appearance: none; -webkit-appearance: none; width: 16px; height: 16px; cursor: pointer; background: var(--muted); -webkit-mask: var(--cross); mask: var(--cross); }
.add { display: grid; place-items: center; width: 32px; height: 32px; padding: 0; flex: none; }
.tags { display: flex; flex-wrap: wrap; gap: 4px; padding: 0 12px 8px; max-height: 62px; overflow: hidden; }
.tag { padding: 1px 7px; border-radius: 10px; font-size: 12px; color: var(--accent); background: color-mix(in srgb, var(--accent) 9%, transparent); }
.tags .tag { color: var(--muted); background: var(--surface); border: 1px solid var(--line); }
.tags .tag:hover { border-color: var(--muted); }
.tags .tag[aria-pressed=true] { color: var(--on-accent); background: var(--accent); border-color: var(--accent); }
.scroll { flex: 1; min-height: 0; overflow-y: auto; padding: 2px 8px 8px; }
.items { margin: 0; padding: 0; list-style: none; }
.items li { position: relative; margin-bottom: 2px; }
.note { display: flex; flex-direction: column; gap: 2px; width: 100%; padding: 8px 10px; text-align: left; border: 1px solid transparent; border-radius: 8px; }
.note:hover { background: color-mix(in srgb, var(--line) 55%, transparent); }
.note[aria-current=true] { background: var(--surface); border-color: var(--line); } .note[aria-current=true] .title { color: var(--accent); }
.head { display: flex; gap: 6px; align-items: baseline; }
.head .title { flex: 1; min-width: 0; font-weight: 550; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.head .icon { width: 12px; height: 12px; align-self: center; color: var(--accent); fill: currentColor; }
.head time { color: var(--muted); font-size: 11.5px; font-variant-numeric: tabular-nums; white-space: nowrap; }
.note .text { color: var(--muted); font-size: 12.5px; display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2; overflow: hidden; overflow-wrap: anywhere; }
mark { background: var(--hit); color: var(--ink); border-radius: 2px; padding: 0 1px; }
.acts { display: flex; padding: 0 2px 4px; } .acts button { font-size: 12px; padding: 2px 8px; }
.none { padding: 24px 12px; text-align: center; color: var(--muted); overflow-wrap: anywhere; } .none button { color: var(--accent); }
.side footer { display: flex; gap: 4px; align-items: center; min-height: 40px; padding: 4px 8px 4px 14px; border-top: 1px solid var(--line); color: var(--muted); font-size: 12px; }
.side footer .count { flex: 1; font-variant-numeric: tabular-nums; }

.pane { display: flex; flex-direction: column; min-width: 0; min-height: 0; background: var(--surface); container-type: inline-size; position: relative; }
.bar { display: flex; gap: 8px; align-items: center; min-height: 52px; padding: 8px 16px; border-bottom: 1px solid var(--line); }
.tool.back { display: none; }
.modes { display: flex; padding: 2px; border-radius: 7px; background: var(--lane); border: 1px solid var(--line); }
.modes button { padding: 2px 10px; border-radius: 5px; color: var(--muted); }
.modes button[aria-pressed=true] { background: light-dark(#ffffff, #2e2b28); color: var(--ink); font-weight: 550; box-shadow: 0 1px 2px rgb(0 0 0 / .12); }
.status { flex: 1; min-width: 0; padding: 0 4px; color: var(--muted); font-size: 12px; text-align: right; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; font-variant-numeric: tabular-nums; }
.status.good { color: var(--good); } .status.bad { color: var(--bad); font-weight: 550; }
.tools { display: flex; gap: 2px; align-items: center; }
.tool { display: grid; place-items: center; width: 30px; height: 30px; padding: 0; color: var(--muted); }
.tool:hover { color: var(--ink); } .tool[aria-pressed=true] { color: var(--accent); } .tool[aria-pressed=true] .icon { fill: currentColor; }
.sides { flex: 1; min-height: 0; display: grid; grid-template: 100% / minmax(0, 1fr) minmax(0, 1fr); }
.write { width: 100%; height: 100%; padding: 24px 24px 40vh; border: 0; border-right: 1px solid var(--line); background: var(--page); resize: none; font: 400 13px/1.65 var(--mono); tab-size: 2; outline: none !important; }
.write::placeholder { color: var(--muted); opacity: 1; }
.prose { min-width: 0; height: 100%; padding: 24px 28px 40vh; overflow-y: auto; outline: none !important; }
.prose:focus-visible { box-shadow: inset 0 2px 0 var(--accent); } [data-mode=both] .write:focus-visible { box-shadow: inset 0 2px 0 color-mix(in srgb, var(--accent) 45%, transparent); }
progress { position: absolute; inset: auto 0 -1px; width: 100%; height: 2px; border: 0; appearance: none; -webkit-appearance: none; background: none; } .bar { position: relative; }
progress::-webkit-progress-bar { background: none; } progress::-webkit-progress-value { background: var(--accent); transition: inline-size 150ms ease-out; }
::highlight(found) { background-color: var(--hit); color: var(--ink); }
[data-mode=write] .sides, [data-mode=read] .sides { grid-template-columns: minmax(0, 1fr); }
[data-mode=write] .prose, [data-mode=read] .write { display: none; }
[data-mode=write] .write { border: 0; padding-inline: max(24px, 50% - 360px); } [data-mode=read] .prose { padding-inline: max(28px, 50% - 340px); }
@container (max-width: 640px) { [data-mode] .write, [data-mode] .prose { padding-inline: 20px; } .bar { padding-inline: 8px; gap: 4px; } }
.dropping::after { content: "Drop to attach"; position: fixed; z-index: 10; inset: 8px; display: grid; place-items: center; border: 2px dashed var(--accent); border-radius: 10px; background: color-mix(in srgb, var(--surface) 85%, transparent); color: var(--accent); font-size: 15px; font-weight: 600; pointer-events: none; }

.prose { font-size: 14.5px; line-height: 1.6; overflow-wrap: anywhere; }
.prose > :first-child { margin-top: 0; }
.prose h1, .prose h2, .prose h3, .prose h4, .prose h5, .prose h6 { margin: 1.5em 0 .5em; line-height: 1.25; letter-spacing: -.01em; font-weight: 650; }
.prose h1 { font-size: 25px; letter-spacing: -.02em; } .prose h2 { font-size: 19px; } .prose h3 { font-size: 16px; } .prose h4, .prose h5, .prose h6 { font-size: 14.5px; } .prose h6 { color: var(--muted); }
.prose p, .prose ul, .prose ol, .prose blockquote, .prose pre, .prose .table { margin: 0 0 .9em; }
.prose ul, .prose ol { padding-left: 22px; } .prose li { margin: .2em 0; } .prose li > div > :last-child { margin-bottom: 0; } .prose li::marker { color: var(--muted); }
.prose .task { list-style: none; margin-left: -22px; display: grid; grid-template-columns: 22px 1fr; align-items: baseline; }
.prose .task > div { grid-column: 2; } .prose .task.done > span { color: var(--muted); text-decoration: line-through; }
.prose input[type=checkbox] { width: 15px; height: 15px; margin: 0; align-self: start; margin-top: .25em; accent-color: var(--accent); cursor: pointer; }
.prose a { color: var(--accent); text-underline-offset: 2px; }
.prose hr { border: 0; border-top: 1px solid var(--line); margin: 1.6em 0; }
.prose blockquote { padding: 2px 0 2px 14px; border-left: 3px solid var(--line); color: var(--muted); } .prose blockquote > :last-child { margin-bottom: 0; }
code { font: 400 .88em var(--mono); padding: .1em .35em; border-radius: 4px; background: var(--lane); }
.prose pre { padding: 12px 14px; border: 1px solid var(--line); border-radius: 8px; background: var(--page); overflow-x: auto; line-height: 1.5; } .prose pre code { padding: 0; background: none; }
.table { overflow-x: auto; } table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { max-width: 320px; padding: 6px 24px 6px 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; overflow-wrap: normal; } th:last-child, td:last-child { padding-right: 0; } th { font-weight: 600; border-bottom-color: var(--muted); }
.picture { display: inline-block; max-width: 100%; margin: 3px 0; padding: 0; border: 1px solid var(--line); border-radius: 8px; overflow: hidden; background: var(--lane); vertical-align: top; cursor: zoom-in; } .picture:hover { border-color: var(--muted); }
.picture img { display: block; max-width: 100%; max-height: min(60vh, 420px); } .picture.coming { width: 240px; height: 140px; } .picture.coming img { opacity: 0; }
.large { padding: 0; max-width: 94vw; max-height: 94vh; border: 1px solid var(--line); border-radius: 10px; background: var(--surface); color: var(--ink); box-shadow: var(--shadow); overflow: hidden; } .large::backdrop { background: rgb(0 0 0 / .55); }
.large img { display: block; max-width: 100%; max-height: calc(94vh - 54px); margin: auto; background: var(--lane); } .large footer { display: flex; gap: 8px; align-items: center; padding: 10px 12px 10px 16px; border-top: 1px solid var(--line); } .large span { flex: 1; min-width: 0; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; } .large small { color: var(--muted); white-space: nowrap; }
.chip { display: inline-flex; margin: 3px 0; gap: 6px; align-items: center; max-width: 100%; padding: 4px 10px; border: 1px solid var(--line); border-radius: 8px; background: var(--page); font-size: 13px; vertical-align: middle; text-align: left; }
button.chip:hover { border-color: var(--muted); background: var(--page); } .chip .icon { color: var(--accent); } .chip small { color: var(--muted); white-space: nowrap; } .chip.missing { border-style: dashed; color: var(--muted); }

.early { position: fixed; left: -100px; width: 1px; height: 1px; opacity: 0; }
.start { min-width: 0; display: flex; flex-direction: column; align-items: center; justify-content: center; gap: 12px; padding: 24px; text-align: center; background: var(--surface); }
.start h1 { margin: 0; font-size: 20px; font-weight: 650; letter-spacing: -.01em; } .start p { margin: 0; max-width: 380px; color: var(--muted); text-wrap: balance; }
.start .keys { display: flex; flex-wrap: wrap; justify-content: center; gap: 4px 16px; max-width: none; margin-top: 12px; font-size: 12px; } .keys span { display: inline-flex; gap: 4px; align-items: center; }
kbd { min-width: 20px; padding: 0 5px; border: 1px solid var(--line); border-bottom-width: 2px; border-radius: 5px; background: var(--page); font: 400 11.5px/18px var(--mono); }
.toast { position: fixed; left: 50%; bottom: 20px; transform: translateX(-50%); display: flex; gap: 12px; align-items: center; width: max-content; max-width: calc(100vw - 32px); padding: 8px 14px; border-radius: 8px; background: var(--ink); color: var(--page); box-shadow: var(--shadow); z-index: 20; overflow-wrap: anywhere; }
.toast button { color: inherit; font-weight: 600; text-decoration: underline; text-underline-offset: 3px; white-space: nowrap; } .toast button:hover { background: color-mix(in srgb, var(--page) 18%, transparent); } .toast :focus-visible { outline-color: var(--page); }
@media (max-width: 620px) {
  body { grid-template-columns: minmax(0, 1fr); } .side { border: 0; } .tool.back { display: grid; }
  [data-show=list] .pane, [data-show=list] .start, [data-show=note] .side { display: none; }
}
@media (prefers-reduced-motion: reduce) { *, ::before, ::after { animation: none !important; transition: none !important; } }
`;
