import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ModernHttp } from '../harness/asked-client.ts'
import type { Message } from '../harness/call-stream.ts'
import { eventually } from '../harness/processes.ts'
import { type AskingBench, openAskingBench, runOf } from '../questions/asking-bench.ts'

const SERVERS = {
  pipe: {},
  web: { http: true },
  newpipe: { switches: ['--era', 'modern'] },
  newweb: { http: true, switches: ['--era', 'modern'] },
}

describe('timeout_seconds of an entry', () => {
  let bench: AskingBench

  beforeAll(async () => {
    bench = await openAskingBench({
      ...SERVERS,
      brief: { entry: { timeouts: { call: '1s', max: '2s' } } },
    })
    const short = { timeout_seconds: 0.8 }
    const entries = Object.keys(SERVERS).map((id) => [`mcp__${id}__run`, short])
    const tools = { ...Object.fromEntries(entries), mcp__brief__run: { timeout_seconds: 3_600 } }
    writeFileSync(join(bench.gateway.home, 'tools.yaml'), JSON.stringify({ tools }))
    await eventually(
      () => bench.gateway.records(),
      (records) => records.some(({ type }) => type === 'TOOLS_FILE_RELOADED'),
    )
  })

  afterAll(() => bench.close())

  const run = (server: string, ...steps: readonly Message[]): Promise<Message> =>
    new ModernHttp(bench.gateway.mcp, { capabilities: {} }).ask(runOf(server, ...steps))

  it.each(Object.keys(SERVERS))('ends a call to %s, and its error names the entry', async (server) => {
    const result = await run(server, { hang: true })
    expect(result).toMatchObject({ isError: true, _meta: { 'sallyport/error': { code: 'UPSTREAM_TIMEOUT' } } })
    expect(result.content[0].text).toMatch(
      new RegExp(`within 800 ms, which is timeout_seconds of mcp__${server}__run \\(.*tools\\.yaml:\\d+\\)`),
    )
    // On a busy machine 800 ms may be too short for an answer as well.
    await expect.poll(async () => JSON.stringify(await run(server))).toContain('answers')
  })

  it('cannot exceed the maximum for calls to its server', async () => {
    const result = await run('brief', { hang: true })
    expect(result.content[0].text).toMatch(/^\[UPSTREAM_TIMEOUT\] No answer to tools\/call within 2/)
    expect(result.content[0].text).not.toContain('timeout_seconds')
  })
})
