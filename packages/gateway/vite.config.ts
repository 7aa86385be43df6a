import { resolve } from 'node:path'
import { build, defineConfig, type InlineConfig, type Plugin } from 'vite'

/**
 * Joins the command line's own modules, core, the kit and the YAML parser into a few files: Node needs about half a
 * millisecond to find and link each of some three hundred, and an agent waits for every start.
 */
const JOINED = {
  root: import.meta.dirname,
  build: {
    ssr: true,
    target: 'node20',
    outDir: 'dist/cli',
    emptyOutDir: false,
    minify: false,
    rollupOptions: {
      input: 'src/cli/main.ts',
      checks: { ineffectiveDynamicImport: false },
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
} satisfies InlineConfig

/**
 * What `serve` loads, one file for each layer, each loaded after those before it. Left to itself the bundler makes a
 * file for every set of commands that share a module, and `serve` would load more than sixty. The commands named here
 * run beside a gateway, and are not made to load one.
 */
const LAYERS: Readonly<Record<string, readonly string[]>> = {
  root: ['main'],
  command: ['run-cli', 'serve/serve-command'],
  window: ['serve/serve'],
  beside: [
    ...['approvals', 'audit', 'call', 'connect', 'explain', 'hook', 'import'],
    ...['mode', 'panic', 'run', 'run-sandboxed', 'servers/servers', 'token', 'trust', 'ui'],
  ].map((name) => `commands/${name}`),
  gateway: ['serve/serve-ports', '../config/reading/read-config'],
}

interface Chunk {
  readonly fileName: string
  readonly moduleIds: readonly string[]
  readonly imports: readonly string[]
}

/** A plugin, since the check for unused files reads this one too, and need not build anything. */
const layers: Plugin = {
  name: 'layers',
  config: async () => {
    const layerOf = await findLayers()
    const group = { name: (id: string) => layerOf.get(id) ?? null, debugName: 'layer' }
    const codeSplitting = { includeDependenciesRecursively: false, groups: [group] }
    return { build: { rollupOptions: { output: { codeSplitting } } } }
  },
}

export default defineConfig({ ...JOINED, plugins: [layers] })

/** The layer of each module, found by a build that writes nothing: only then is known what of core a file really needs. */
async function findLayers(): Promise<ReadonlyMap<string, string>> {
  const chunks = await trialChunks()
  const { beside, ...serve } = LAYERS
  const served = reached(chunks, Object.values(serve).flat())
  const layerOf = new Map<string, string>()
  // What `serve` never asks for is left to the bundler.
  for (const [layer, files] of Object.entries(LAYERS))
    for (const chunk of reached(chunks, files))
      if (served.has(chunk) && chunk.fileName !== 'main.js')
        for (const id of chunk.moduleIds) if (!layerOf.has(id)) layerOf.set(id, layer)
  return layerOf
}

async function trialChunks(): Promise<readonly Chunk[]> {
  const trial = { ...JOINED, configFile: false, logLevel: 'silent', build: { ...JOINED.build, write: false } } as const
  const results = [await build(trial)].flat()
  return results.flatMap((result) => ('output' in result ? result.output : [])).filter((made) => made.type === 'chunk')
}

/** The chunks that are loaded with these files of the cli. */
function reached(chunks: readonly Chunk[], files: readonly string[]): ReadonlySet<Chunk> {
  const found = new Set(files.map((file) => chunkOf(chunks, file)))
  // A set hands out what is added while it is gone through.
  for (const { imports } of found) for (const chunk of chunks) if (imports.includes(chunk.fileName)) found.add(chunk)
  return found
}

function chunkOf(chunks: readonly Chunk[], file: string): Chunk {
  const id = resolve(import.meta.dirname, 'src/cli', `${file}.ts`)
  const chunk = chunks.find(({ moduleIds }) => moduleIds.includes(id))
  if (chunk === undefined) throw new Error(`${id} is not part of the command`)
  return chunk
}
