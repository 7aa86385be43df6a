import { defineConfig } from 'vite'

export default defineConfig({
  build: {
    outDir: '../gateway/ui',
    emptyOutDir: true,
    target: 'es2022',
    // The policy of the page allows no inline script, and every browser of the target preloads by itself.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
  },
})
