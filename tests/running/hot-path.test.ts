import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { LegacyClient, modernRequest } from '../harness/mcp-client.ts'
import { endProcess, REPOSITORY, runGateway } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'

const JOINED = join(REPOSITORY, 'packages/gateway/dist/cli/joined')

/** Every script that a process loaded, as V8 saw it. */
function loadedScripts(folder: string): readonly string[] {
  return readdirSync(folder).flatMap((name) => {
    const { result } = JSON.parse(readFileSync(join(folder, name), 'utf8')) as { result: { url: string }[] }
    return result.map(({ url }) => url)
  })
}

describe(`${promise('GW-22')} the hot path`, () => {
  it('answers calls of both eras without a schema library, a web framework or the SDK', async () => {
    const coverage = mkdtempSync(join(tmpdir(), 'sallyport-coverage-'))
    const clock = { command: process.execPath, args: [join(REPOSITORY, 'packages/gateway/demo/servers/clock.mjs')] }
    const gateway = await runGateway({ config: { mcp_servers: { clock } }, env: { NODE_V8_COVERAGE: coverage } })
    try {
      const legacy = await LegacyClient.open(gateway.mcp)
      expect(await legacy.call('clock_current_time')).not.toHaveProperty('isError')
      const { message } = await modernRequest(gateway.mcp, 'tools/call', { name: 'clock_current_time', arguments: {} })
      expect(message.result).toMatchObject({ resultType: 'complete' })
      await endProcess(gateway.child)
      const scripts = loadedScripts(coverage)
      expect(scripts.some((url) => url.includes('/gateway/dist/cli/joined/'))).toBe(true)
      expect(
        scripts.filter((url) => /node_modules\/(zod|hono|@hono|@modelcontextprotocol|@opentelemetry|jose)\//.test(url)),
      ).toEqual([])
    } finally {
      await gateway.stop()
      rmSync(coverage, { recursive: true, force: true })
    }
  })

  it('is loaded from one file for each layer, of which none needs a later one', () => {
    const layers = ['root', 'command', 'window', 'beside', 'gateway']
    const files = readdirSync(JOINED)
    const loaded = layers.map((layer) => files.filter((name) => new RegExp(`^${layer}-[\\w-]{8}\\.js$`).test(name)))
    expect(loaded.map(({ length }) => length)).toEqual(layers.map(() => 1))
    const names = loaded.flat()
    for (const [at, name] of names.entries())
      expect(names.slice(0, at)).toEqual(expect.arrayContaining([...importsOf(name)]))
  })
})

/** The other joined files that one cannot be loaded without. */
function importsOf(name: string): readonly string[] {
  const text = readFileSync(join(JOINED, name), 'utf8')
  return [...text.matchAll(/^import .* from "\.\/(.+)";$/gm)].map(([, file]) => file ?? '')
}
