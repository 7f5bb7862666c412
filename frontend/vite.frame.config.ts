import { defineConfig } from "vite";

// The bootstrap of a gadget's frame: one classic script without imports, which
// Go inlines into each frame document.
export default defineConfig({
  publicDir: false,
  build: {
    outDir: "dist/frame",
    emptyOutDir: true,
    target: ["chrome116", "safari16.4"],
    reportCompressedSize: false,
    lib: {
      entry: "src/gadget/frame/boot.ts",
      formats: ["iife"],
      name: "toolshedFrame",
      fileName: () => "boot.js",
    },
  },
});
