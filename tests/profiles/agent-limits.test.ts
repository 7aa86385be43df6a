import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { LegacyClient } from '../harness/mcp-client.ts'
import { runCommand } from '../harness/run-command.ts'
import { REPOSITORY, runGateway } from '../harness/run-gateway.ts'
import { openWindow } from '../harness/stdio-client.ts'
import { type FloodBench, handleIn, type Message, openFlood, textOf } from '../isolation/flood-bench.ts'
import { promise } from '../promises.ts'
import { mintBearer, writeProfiles } from './profile-bench.ts'

const CLAUDE = 24_000
const CODEX = 9_000

const openAuto = (): Promise<FloodBench> => openFlood({ context: 'auto', args: [] })

const openAs = async ({ gateway }: FloodBench, { agent = '', path = '', name = 'test' }): Promise<LegacyClient> => {
  const bearer = await mintBearer(gateway, agent === '' ? {} : { agent })
  return LegacyClient.open(`${gateway.mcp}${path}`, bearer, name)
}

const schemaIn = async (client: Pick<LegacyClient, 'request'>): Promise<unknown> =>
  (await client.request('tools/list')).message.result.tools.find(({ name }: Message) => name === 'db_table')
    ?.outputSchema

const wordsOf = (length: number): object => ({ content: [{ type: 'text', text: 'some words '.repeat(length / 11) }] })

describe(`${promise('ISO-13')} without any setting`, () => {
  it('a program gets every result whole, and every output schema', async () => {
    const bench = await openAuto()
    for (const path of ['', '/my-bot.default']) {
      const client = await openAs(bench, { path })
      expect(await schemaIn(client)).toMatchObject({ required: ['rows', 'total'] })
      const { structuredContent } = await client.call('db_table', { count: 20_000 })
      expect(structuredContent.rows).toHaveLength(20_000)
      const result = { ...wordsOf(2_000_000), isError: true, _meta: { a: 1 } }
      expect(await client.call('db_flood', { result })).toEqual(result)
    }
    expect(JSON.stringify(bench.gateway.records())).not.toContain('"returned"')
  })

  it.each<[string, { readonly agent?: string; readonly path?: string }, number]>([
    ['token is for it', { agent: 'claude-code' }, CLAUDE],
    ['token is for it, by another name,', { agent: 'CLAUDE_CODE' }, CLAUDE],
    ['URL names it', { path: '/claude-code.default' }, CLAUDE],
    ['token is for another one', { agent: 'codex' }, CODEX],
  ])('an agent whose %s gets as much as it shows its model', async (_, who, limit) => {
    const client = await openAs(await openAuto(), who)
    const result = wordsOf(limit - 100)
    expect(await client.call('db_flood', { result })).toEqual(result)
    const shown = await client.call('db_flood', { kind: 'log' })
    expect(textOf(shown).length).toBeLessThanOrEqual(limit)
    expect(textOf(shown).length).toBeGreaterThan(limit * 0.9)
    const page = await client.call('sallyport_read_result', { handle: handleIn(shown), lines: '40001' })
    expect(textOf(page)).toContain('request 40000')
  })

  it(`${promise('ISO-17')} an agent that would refuse a cut result is not promised structured content; another one is`, async () => {
    const bench = await openAuto()
    expect(await schemaIn(await openAs(bench, { agent: 'claude-code' }))).toBeUndefined()
    const codex = await openAs(bench, { agent: 'codex' })
    expect(await schemaIn(codex)).toMatchObject({ required: ['rows', 'total'] })
    expect(await codex.call('db_table', { count: 2_000 })).not.toHaveProperty('structuredContent')
  })

  it('an error is cut where the agent cuts errors', async () => {
    const client = await openAs(await openAuto(), { agent: 'claude-code' })
    const shown = await client.call('db_flood', { result: { ...wordsOf(40_000), isError: true } })
    expect(shown.isError).toBe(true)
    expect(textOf(shown).length).toBeLessThanOrEqual(10_000)
    expect(textOf(shown).length).toBeGreaterThan(9_000)
  })

  it(`${promise('GW-19')} a client that only says that it is an agent gets less, but the same list`, async () => {
    const bench = await openAuto()
    const client = await openAs(bench, { name: 'claude-code' })
    const shown = await client.call('db_flood', { kind: 'log' })
    expect(textOf(shown).length).toBeLessThanOrEqual(CLAUDE)
    expect(handleIn(shown)).toMatch(/^r_/)
    expect(await schemaIn(client)).toMatchObject({ required: ['rows', 'total'] })
    // It would refuse a result without the structured content that the list promises.
    const { structuredContent } = await client.call('db_table', { count: 2_000 })
    expect(structuredContent.rows).toHaveLength(2_000)
  })

  it('an agent that says that it is one with a higher limit gets no more', async () => {
    const client = await openAs(await openAuto(), { agent: 'codex', name: 'goose-cli' })
    expect(textOf(await client.call('db_flood', { kind: 'log' })).length).toBeLessThanOrEqual(CODEX)
  })
})

describe('a window that names its agent', () => {
  const ask = async (bench: FloodBench, agent?: string) => {
    const window = openWindow(bench.gateway, agent === undefined ? {} : { agent })
    onTestFinished(() => void window.child.kill())
    await window.initialize()
    return {
      call: async (name: string, args: object) =>
        (await window.request('tools/call', { name, arguments: args })).result,
      tools: async (): Promise<readonly string[]> =>
        (await window.request('tools/list')).result.tools.map(({ name }: Message) => name),
    }
  }

  it(`${promise('ISO-13')} has the limit of that agent; one that names none has none`, async () => {
    const bench = await openAuto()
    const shown = await (await ask(bench, 'claude')).call('db_flood', { kind: 'log' })
    expect(textOf(shown).length).toBeLessThanOrEqual(CLAUDE)
    expect(textOf(shown).length).toBeGreaterThan(CLAUDE * 0.9)
    const whole = await (await ask(bench)).call('db_flood', { kind: 'log', count: 3_000 })
    expect(textOf(whole)).toContain('request 1500 took')
  })

  it('has the tools of its profile at most, also after the profile changes', async () => {
    const bench = await openAuto()
    const { home, state } = bench.gateway
    writeProfiles(bench.gateway, { CLAUDE_CODE: { DEFAULT: {}, REVIEWER: { selected_mcp_tools: ['db/other'] } } })
    await expect
      .poll(() => runCommand(['profiles', '--json', '--home', home, '--state', state]).then(({ stdout }) => stdout))
      .toContain('reviewer')
    const { call, tools } = await ask(bench, 'claude-code.reviewer')
    expect(await tools()).toEqual(expect.arrayContaining(['db_other']))
    expect(await tools()).not.toContain('db_flood')
    writeProfiles(bench.gateway, { CLAUDE_CODE: { REVIEWER: { selected_mcp_tools: ['db/flood'] } } })
    await expect.poll(tools).toContain('db_flood')
    expect(textOf(await call('db_flood', { kind: 'log' })).length).toBeLessThanOrEqual(CLAUDE)
  })

  it.each([
    ['an unknown agent', 'claude-cod', 'Did you mean "claude-code"?'],
    ['an unknown profile', 'claude-code.nobody', 'There is no profile claude-code.nobody'],
  ])('is refused with %s', async (_, agent, words) => {
    const { gateway } = await openAuto()
    const { home, state } = gateway
    const { code, stderr } = await runCommand(['serve', '--stdio', '--agent', agent, '--home', home, '--state', state])
    expect(code).not.toBe(0)
    expect(stderr).toContain(words)
  })
})

describe(`${promise('ISO-16')} a server of the kit behind the gateway`, () => {
  it('names a reader that works there, and the gateway’s own reader says whose result it is', async () => {
    const args = [join(REPOSITORY, 'tests/fixtures/large-kit-server.mjs')]
    const gateway = await runGateway({ config: { mcp_servers: { records: { command: 'node', args } } }, args: [] })
    onTestFinished(() => gateway.stop())
    const client = await LegacyClient.open(gateway.mcp, await mintBearer(gateway, {}))
    const shown = await client.call('records_search')
    const handle = handleIn(shown)
    expect(textOf(shown)).toContain(`this server's sallyport_read_result with handle ${handle}`)
    const { tools } = (await client.request('tools/list')).message.result
    expect(tools.map(({ name }: Message) => name)).toContain('records_sallyport_read_result')
    const page = await client.call('records_sallyport_read_result', { handle, rows: '400-401' })
    expect(textOf(page)).toContain('row 400')
    expect(textOf(page)).toContain('Next: this tool with {')
    const wrong = await client.call('sallyport_read_result', { handle })
    expect(wrong).toMatchObject({ isError: true })
    expect(textOf(wrong)).toContain('use the reader of that server')
  })
})
