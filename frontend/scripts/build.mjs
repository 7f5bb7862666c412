// Builds the page: the shell first, then the frame bootstrap beside it, and
// fails when the shell is larger than a first paint may cost.
import { readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "vite";

const budget = 400 * 1024;
const root = join(dirname(fileURLToPath(import.meta.url)), "..");

await build({ root, configFile: join(root, "vite.config.ts"), logLevel: "warn" });
await build({ root, configFile: join(root, "vite.frame.config.ts"), logLevel: "warn" });

const assets = join(root, "dist", "assets");
let total = gzipSync(readFileSync(join(root, "dist", "index.html"))).length;
for (const name of readdirSync(assets)) {
  const bytes = readFileSync(join(assets, name));
  total += /\.(woff2|png)$/.test(name) ? bytes.length : gzipSync(bytes).length;
}
const frame = gzipSync(readFileSync(join(root, "dist", "frame", "boot.js"))).length;
const kb = (n) => `${(n / 1024).toFixed(1)} KB`;
console.log(`page ${kb(total)} gzip with its font (budget ${kb(budget)}), frame bootstrap ${kb(frame)} gzip`);
if (total > budget) {
  console.error("the page is larger than its budget");
  process.exit(1);
}
