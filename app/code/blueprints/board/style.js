// The look: warm paper and ink, one ember, following the system's light or dark.

export const style = `
:root {
  color-scheme: light dark;
  --page: light-dark(#faf9f7, #161513); --surface: light-dark(#ffffff, #1e1c1a); --lane: light-dark(#f3f1ed, #1a1917);
  --line: light-dark(#e7e4df, #2e2b28); --ink: light-dark(#1f1d1a, #ece9e4); --muted: light-dark(#6b665e, #a09a91);
  --accent: light-dark(#c2410c, #fb923c); --on-accent: light-dark(#ffffff, #161513); --good: light-dark(#15803d, #4ade80);
  --shadow: 0 8px 24px light-dark(rgb(60 40 20 / .16), rgb(0 0 0 / .5));
  font: 400 13px/1.45 "Inter Variable", Inter, system-ui, sans-serif;
}
* { box-sizing: border-box; }
html, body { height: 100%; margin: 0; }
body { background: var(--page); color: var(--ink); display: flex; flex-direction: column; overflow: hidden; }
button, input, textarea { font: inherit; color: inherit; }
button { border: 0; background: none; cursor: pointer; border-radius: 6px; padding: 4px 8px; }
button:hover { background: var(--line); }
:focus { outline: none; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }

.bar { display: flex; gap: 8px; align-items: center; padding: 12px 16px 4px; }
.search { flex: 0 1 260px; height: 32px; padding: 0 12px; border: 1px solid var(--line); border-radius: 6px; background: var(--surface); }
.search::placeholder { color: var(--muted); }
.bar .space { flex: 1; }
.bar .quiet { color: var(--muted); font-variant-numeric: tabular-nums; }
.bar .quiet[aria-pressed=true] { color: var(--accent); }

.lanes { flex: 1; min-height: 0; display: flex; gap: 12px; align-items: flex-start; padding: 8px 16px 16px; overflow-x: auto; }
.lane { flex: 1 1 240px; min-width: 168px; max-width: 300px; max-height: 100%; display: flex; flex-direction: column; background: var(--lane); border-radius: 10px; }
.lane.lifted, .card.lifted { opacity: .35; }
.lane .head { display: flex; align-items: center; gap: 8px; padding: 8px 8px 8px 12px; cursor: grab; touch-action: none; -webkit-user-select: none; user-select: none; }
.lane h2 { flex: 1; min-width: 0; margin: 0; font-size: 13px; font-weight: 650; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; cursor: text; border-radius: 4px; }
.lane .head .count { color: var(--muted); font-size: 12px; font-variant-numeric: tabular-nums; }
.lane .head button { color: var(--muted); padding: 2px 6px; opacity: 0; }
.lane:hover .head button, .lane .head button:focus-visible { opacity: 1; }
.lane ol { flex: 1; min-height: 8px; margin: 0; padding: 0 8px; list-style: none; overflow-y: auto; }
.lane .empty { color: var(--muted); padding: 4px 4px 12px; }
.lane > .add { margin: 4px 8px 8px; text-align: left; color: var(--muted); }
.newlane { flex: 0 0 auto; color: var(--muted); padding: 8px 12px; border: 1px dashed var(--line); border-radius: 10px; }
.field { width: 100%; padding: 6px 8px; border: 1px solid var(--accent); border-radius: 6px; background: var(--surface); resize: none; outline: none !important; }
.compose { padding: 4px 8px 8px; }

.card { position: relative; list-style: none; margin: 0 0 8px; padding: 10px 12px; background: var(--surface); border: 1px solid var(--line); border-radius: 8px; cursor: grab; touch-action: none; -webkit-user-select: none; user-select: none; overflow-wrap: anywhere; }
.card:hover { border-color: color-mix(in srgb, var(--muted) 45%, var(--line)); }
.card .title { font-size: 13px; font-weight: 550; }
.card .text { margin-top: 4px; color: var(--muted); display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 4; overflow: hidden; }
.card .text > * { margin: 0; }
.card .text ul, .card .text ol { padding-left: 18px; }
.card .meter { display: flex; gap: 8px; align-items: center; margin-top: 8px; color: var(--muted); font-size: 12px; font-variant-numeric: tabular-nums; }
.card .meter i { flex: 1; height: 4px; border-radius: 2px; background: var(--line); overflow: hidden; }
.card .meter i::after { content: ""; display: block; height: 100%; width: var(--part); background: var(--accent); }
.card .meter.full { color: var(--good); } .card .meter.full i::after { background: var(--good); }
.card.dim { opacity: .28; }
.card.told { animation: told 900ms ease-out; }
@keyframes told { from { border-color: var(--accent); } }
.slot { height: 2px; margin: -5px 2px 3px; border-radius: 1px; background: var(--accent); list-style: none; }
.slot.upright { flex: 0 0 2px; width: 2px; height: auto; align-self: stretch; margin: 0 -7px; }
.ghost { position: fixed; z-index: 10; pointer-events: none; margin: 0; box-shadow: var(--shadow); transform: rotate(1.2deg); }

dialog { width: min(640px, calc(100vw - 32px)); max-height: calc(100vh - 48px); padding: 0; border: 1px solid var(--line); border-radius: 10px; background: var(--surface); color: var(--ink); box-shadow: var(--shadow); overflow: auto; }
dialog::backdrop { background: rgb(20 15 10 / .35); }
dialog .inside { padding: 20px 24px; display: flex; flex-direction: column; gap: 12px; }
dialog input.title { width: 100%; padding: 4px 0; border: 0; background: none; font-size: 18px; font-weight: 650; outline: none; }
dialog .tabs { display: flex; gap: 4px; } dialog .tabs button[aria-selected=true] { color: var(--accent); font-weight: 550; }
dialog textarea { width: 100%; min-height: 220px; padding: 10px 12px; border: 1px solid var(--line); border-radius: 6px; background: var(--page); font: 400 12.5px/1.5 ui-monospace, Menlo, Consolas, monospace; resize: vertical; }
dialog footer { display: flex; gap: 8px; align-items: center; color: var(--muted); font-size: 12px; } dialog footer span { flex: 1; }
.primary { background: var(--accent); color: var(--on-accent); font-weight: 550; padding: 6px 14px; } .primary:hover { background: color-mix(in srgb, var(--accent) 88%, var(--ink)); }
.prose { min-height: 60px; overflow-wrap: anywhere; } .prose > :first-child { margin-top: 0; }
.prose ul, .prose ol { padding-left: 20px; }
.prose a, .card a { color: var(--accent); } .prose pre { padding: 10px 12px; border-radius: 6px; background: var(--page); overflow-x: auto; }
code { font: 400 12px ui-monospace, Menlo, Consolas, monospace; } .prose blockquote { margin: 0; padding-left: 12px; border-left: 3px solid var(--line); color: var(--muted); }
.task { list-style: none; margin-left: -18px; display: grid; grid-template-columns: 20px minmax(0, 1fr); align-items: baseline; } .task > div { grid-column: 2; } .task.done > span { color: var(--muted); }
table { border-collapse: collapse; } .table { overflow-x: auto; } th, td { padding: 4px 16px 4px 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; } input[type=checkbox] { margin: 2px 0 0; accent-color: var(--accent); } .task > input { align-self: start; }
.archive { display: flex; flex-direction: column; gap: 4px; } .archive li { display: flex; gap: 8px; align-items: center; padding: 6px 0; border-bottom: 1px solid var(--line); list-style: none; }
.archive li span { flex: 1; min-width: 0; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; } .archive ul { margin: 0; padding: 0; }
.toast { position: fixed; left: 50%; bottom: 20px; transform: translateX(-50%); max-width: calc(100vw - 32px); padding: 8px 14px; border-radius: 8px; background: var(--ink); color: var(--page); box-shadow: var(--shadow); z-index: 20; }
.waiting { margin: auto; color: var(--muted); }
@media (prefers-reduced-motion: reduce) { *, ::before, ::after { animation: none !important; transition: none !important; } .ghost { transform: none; } }
`;
