import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { LegacyClient } from '../harness/mcp-client.ts'
import { runCommand } from '../harness/run-command.ts'
import { makePlace, REPOSITORY, type RunningGateway, runGateway } from '../harness/run-gateway.ts'
import { handleIn, type Message, openFlood, textOf } from '../isolation/flood-bench.ts'
import { mintBearer, type TokenRequest, writeProfiles } from '../profiles/profile-bench.ts'
import { promise } from '../promises.ts'

const FLOOD = { command: 'node', args: [join(REPOSITORY, 'tests/fixtures/flood-server.mjs'), '/dev/null'] }

interface Wish {
  readonly servers?: object
  readonly tools?: object
  readonly config?: object
}

async function openSelecting({ servers = { db: FLOOD }, tools, config = {} }: Wish = {}): Promise<RunningGateway> {
  const place = makePlace()
  place.writeConfig({ mcp_servers: servers, ...config })
  if (tools) writeFileSync(join(place.home, 'tools.yaml'), JSON.stringify({ tools }))
  writeProfiles(place, {
    CODEX: { DEFAULT: {}, FLOOD: { selected_mcp_tools: ['db/flood'] }, NONE: { selected_mcp_tools: [] } },
  })
  const gateway = await runGateway({ place, args: [] })
  onTestFinished(() => gateway.stop())
  return gateway
}

const openAs = async (gateway: RunningGateway, request: TokenRequest, path = ''): Promise<LegacyClient> =>
  LegacyClient.open(`${gateway.mcp}${path}`, await mintBearer(gateway, request))

const namesFor = async (client: LegacyClient): Promise<readonly string[]> =>
  (await client.request('tools/list')).message.result.tools.map(({ name }: Message) => name).sort()

describe(`${promise('ISO-16')} whoever may call a tool may read its results`, () => {
  it.each<[string, TokenRequest, string?]>([
    ['a profile', { agent: 'codex', profile: 'flood' }],
    ['a launch with tools', { agent: 'codex', tools: ['db/flood'] }],
    ['a launch for a URL of a variant', { agent: 'codex' }, '/codex.flood'],
  ])('if %s selects the tool', async (_, request, path) => {
    const gateway = await openSelecting()
    const client = await openAs(gateway, request, path)
    expect(await namesFor(client)).toEqual(['db_flood', 'sallyport_read_result'])
    const shown = await client.call('db_flood', { kind: 'log' })
    const handle = handleIn(shown)
    expect(textOf(shown)).toContain(`sallyport_read_result with handle ${handle}`)
    expect(textOf(await client.call('sallyport_read_result', { handle, lines: '40001' }))).toContain('request 40000')
    const { message } = await client.request('resources/read', { uri: `sallyport://results/${handle}` })
    expect(message.error?.message ?? '').not.toContain('select')
    const other = await openAs(gateway, request, path)
    expect(textOf(await other.call('sallyport_read_result', { handle }))).toContain('no such result')
    expect(JSON.stringify(await client.call('sallyport_read_file', { path: '/workspace' }).catch(String))).toMatch(
      /sele|unknown/i,
    )
  })

  it('and nobody else: no caller without tools, without tools whose results can be cut, or without the reader', async () => {
    const gateway = await openSelecting({ config: { context: { cap: 'off' } } })
    expect(await namesFor(await openAs(gateway, { agent: 'codex', profile: 'none' }))).toEqual([])
    expect(await namesFor(await openAs(gateway, { agent: 'codex', profile: 'flood' }))).toEqual(['db_flood'])
    const hiding = await openSelecting({ tools: { mcp__sallyport__read_result: { hidden: true } } })
    expect(await namesFor(await openAs(hiding, { agent: 'codex', profile: 'flood' }))).toEqual(['db_flood'])
  })

  it('but if only quarantined tools are selected there is nothing to read', async () => {
    const tools = { mcp__db__flood: { isolated: { strategy: 'extract', returns: { type: 'object' } } } }
    const gateway = await openSelecting({ tools })
    const client = await openAs(gateway, { agent: 'codex', profile: 'flood' })
    expect(await namesFor(client)).toEqual(['db_flood'])
    const refused = await client.call('db_flood', { kind: 'log' })
    expect(refused).toMatchObject({ isError: true })
    expect(handleIn(refused)).toBe('no handle')
  })
})

describe(`${promise('ISO-1')} what an entry isolates`, () => {
  it('can be a pattern, as in includeTools', async () => {
    const { client } = await openFlood({ entry: { isolatedTools: ['*flood'] }, config: { context: { cap: 'off' } } })
    const isIsolated = async (name: string): Promise<boolean> =>
      (await client.call(name, { kind: 'log', count: 900 }))._meta?.['sallyport/isolation'] !== undefined
    expect(await isIsolated('db_flood')).toBe(true)
    expect(await isIsolated('db_write_flood')).toBe(true)
    expect(await isIsolated('db_other')).toBe(false)
  })

  it('causes a warning if no tool matches, and fails `tools check`', async () => {
    const gateway = await openSelecting({ servers: { db: { ...FLOOD, isolatedTools: ['flod', 'read_*'] } } })
    const checked = await runCommand(['tools', 'check', '--home', gateway.home, '--state', gateway.state])
    expect(checked.code).toBe(6)
    expect(`${checked.stdout}${checked.stderr}`).toContain('the server has no tool "flod". Did you mean "flood"?')
    expect(gateway.stderr()).toContain('Did you mean "flood"?')
  })

  it('prevents the start of a server if its key is misspelt, and all others work', async () => {
    const gateway = await openSelecting({ servers: { db: { ...FLOOD, Isolated: true }, other: FLOOD } })
    const client = await openAs(gateway, { agent: 'codex' })
    const names = await namesFor(client)
    expect(names).toContain('other_flood')
    expect(names).not.toContain('db_flood')
    const corrected = 'Did you mean "isolated"?'
    expect(gateway.stderr()).toContain(corrected)
    const where = ['--home', gateway.home, '--state', gateway.state]
    expect((await runCommand(['servers', ...where])).stdout).toContain(corrected)
    const checked = await runCommand(['tools', 'check', ...where])
    expect(checked.code).toBe(6)
    expect(`${checked.stdout}${checked.stderr}`).toContain(`db (${join(gateway.home, 'config.yaml')}:`)
    const doctor = await runCommand(['doctor', ...where])
    expect(`${doctor.stdout}${doctor.stderr}`).toContain(corrected)
  })

  it('refuses calls of a tool if its key in tools.yaml is misspelt, and fails `tools check`', async () => {
    const gateway = await openSelecting({ tools: { mcp__db__flood: { isolatd: true } } })
    const client = await openAs(gateway, { agent: 'codex' })
    expect(await namesFor(client)).toContain('db_other')
    expect(await namesFor(client)).not.toContain('db_flood')
    const { message } = await client.request('tools/call', { name: 'db_flood', arguments: { kind: 'log', count: 1 } })
    expect(JSON.stringify(message)).not.toContain('request 0')
    const checked = await runCommand(['tools', 'check', '--home', gateway.home, '--state', gateway.state])
    expect(checked.code).toBe(6)
    expect(`${checked.stdout}${checked.stderr}`).toContain('isolatd: this key is not known. Did you mean "isolated"?')
  })
})
