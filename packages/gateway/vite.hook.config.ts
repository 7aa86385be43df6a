import { defineConfig } from 'vite'

/**
 * Joins the answers to agents' hooks into a file of their own, with no more in it than they need: an agent waits for
 * one before each call of a tool, and shared chunks would bring the YAML parser and all adapters along.
 */
export default defineConfig({
  build: {
    ssr: true,
    target: 'node20',
    outDir: 'dist/cli/hook',
    emptyOutDir: false,
    minify: false,
    rollupOptions: {
      input: 'src/cli/hook/hook.ts',
      output: { entryFileNames: 'hook.js', chunkFileNames: 'joined-[name].js' },
      treeshake: { moduleSideEffects: false },
    },
  },
  ssr: { noExternal: ['@sallyport/core', 'yaml'] },
})
