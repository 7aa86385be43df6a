import { defineConfig } from 'vite'

/**
 * Joins the command line's own modules, core, the kit and the YAML parser into a few files: Node needs about half a
 * millisecond to find and link each of some three hundred, and an agent waits for every start.
 */
export default defineConfig({
  build: {
    ssr: true,
    target: 'node20',
    outDir: 'dist/cli',
    emptyOutDir: false,
    minify: false,
    rollupOptions: {
      input: 'src/cli/main.ts',
      output: { entryFileNames: 'main.js', chunkFileNames: 'joined/[name]-[hash].js' },
    },
  },
  ssr: {
    noExternal: ['@sallyport/core', '@sallyport/kit', '@stricli/core', 'yaml'],
    external: [
      'libsql',
      'jose',
      'hono',
      '@hono/node-server',
      '@hono/zod-openapi',
      'zod',
      're2js',
      '@opentelemetry/api',
      '@opentelemetry/otlp-transformer',
      '@opentelemetry/resources',
      '@opentelemetry/sdk-metrics',
      '@opentelemetry/sdk-trace',
    ],
  },
})
