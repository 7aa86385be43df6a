import tailwind from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

export default defineConfig({
  plugins: [react(), tailwind()],
  build: {
    outDir: '../gateway/ui',
    emptyOutDir: true,
    target: 'es2022',
    manifest: true,
    // The texts that the licences of what is inside ask for.
    license: { fileName: 'licenses.md' },
    // The policy of the page allows no inline script, and every browser of the target preloads by itself.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
  },
})
