// Starts the browser for tests and screenshots: the system's own Chromium, kept off the network.
import { chromium } from "playwright-core";

export const executablePath = process.env.TOOLSHED_CHROMIUM || "/usr/bin/chromium";

export function launchBrowser(more = []) {
  return chromium.launch({
    executablePath,
    headless: true,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      ...more,
    ],
  });
}
