// Builds the page over the kernel in memory into a folder of its own and serves
// it under the policies of the real program: the shell's own, and the frames'.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { dirname, extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");

export const shellPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self'; " +
  "connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; object-src 'none'";
export const framePolicy =
  "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline' data:; img-src data: blob:; " +
  "media-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'; connect-src 'none'; frame-src 'none'; worker-src 'none'; object-src 'none'";

const kinds = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".woff2": "font/woff2" };

/** Returns {address, close}. */
export async function serveFake() {
  const dir = mkdtempSync(join(tmpdir(), "toolshed-page-"));
  const shell = { root, configFile: join(root, "vite.config.ts"), logLevel: "warn" };
  await build({ ...shell, build: { outDir: dir, emptyOutDir: true, rollupOptions: { input: join(root, "fake.html") } } });
  await build({ root, configFile: join(root, "vite.frame.config.ts"), logLevel: "warn", build: { outDir: join(dir, "frame") } });
  const boot = readFileSync(join(dir, "frame", "boot.js"), "utf8").replaceAll("</script", "<\\/script");
  const frame = `<!doctype html><html><head><meta charset="utf-8"><script>${boot}</script></head><body></body></html>`;

  const server = createServer((request, response) => {
    const path = new URL(request.url, "http://localhost").pathname;
    if (path.startsWith("/frame/")) {
      response.writeHead(200, { "Content-Type": "text/html", "Content-Security-Policy": framePolicy }).end(frame);
      return;
    }
    const name = normalize(path === "/" ? "/fake.html" : path);
    try {
      const body = readFileSync(join(dir, name));
      response.writeHead(200, {
        "Content-Type": kinds[extname(name)] ?? "application/octet-stream",
        "Content-Security-Policy": shellPolicy.replace("frame-src 'self'", `frame-src http://${request.headers.host}/frame/`),
      });
      response.end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    address: `http://127.0.0.1:${server.address().port}`,
    close() {
      server.close();
      server.closeAllConnections();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
