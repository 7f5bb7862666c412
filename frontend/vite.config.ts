import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// The shell. Paths are absolute from the root because the same files are
// served by the window's asset server and by `toolshed serve`.
export default defineConfig({
  plugins: [react(), tailwindcss()],
  base: "/",
  build: {
    outDir: "dist",
    target: ["chrome116", "safari16.4"],
    // The shell's policy has no data: scripts or fonts, so nothing is inlined.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // scripts/build.mjs holds the page to its budget instead.
    chunkSizeWarningLimit: 1_000,
  },
  server: { fs: { allow: [".."] } },
  test: { include: ["src/**/*.test.ts"], environment: "node" },
});
