import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LegacyClient, MODERN_ENVELOPE, modernRequest } from '../harness/mcp-client.ts'
import { eventually } from '../harness/processes.ts'
import type { RunningGateway } from '../harness/run-gateway.ts'
import { isToolChange, openWindow } from '../harness/stdio-client.ts'
import { promise } from '../promises.ts'
import { mintBearer, runProfiles, writeProfiles } from './profile-bench.ts'

const EXECUTORS = {
  CODEX: {
    DEFAULT: {},
    REVIEWER: { selected_mcp_tools: ['files/read', 'docs', '!docs/delete_*'] },
    NOBODY: { selected_mcp_tools: [] },
    STRAY: { selected_mcp_tools: ['no_such_server', 'files/raed'] },
    SESSIONED: { session: 'nightly' },
  },
  AMP: { DEFAULT: { selected_mcp_tools: ['notes'] } },
}

type Headers = Record<string, string>
const toolsOf = (message: Record<string, any>): string[] =>
  message.result.tools.map(({ name }: { name: string }) => name).sort()

describe('a profile', () => {
  let gateway: RunningGateway
  beforeAll(async () => {
    gateway = await runProfiles(EXECUTORS)
  })
  afterAll(() => gateway.stop())

  const both = async (headers: Headers, url = gateway.mcp) => {
    const legacy = await LegacyClient.open(url, headers)
    const ask = {
      legacy: (method: string, params: object = {}) => legacy.request(method, params),
      modern: (method: string, params: object = {}) => modernRequest(url, method, params, headers),
    }
    return ask
  }

  it(`${promise('AG-11')} selects tools in both eras, for lists and calls`, async () => {
    const ask = await both(await mintBearer(gateway, { agent: 'codex', profile: 'reviewer' }))
    for (const era of ['legacy', 'modern'] as const) {
      expect(toolsOf((await ask[era]('tools/list')).message)).toEqual(['docs_search', 'files_read'])
      const { message: called } = await ask[era]('tools/call', { name: 'files_read', arguments: {} })
      expect(called.result.isError).not.toBe(true)
      const { message: refused } = await ask[era]('tools/call', { name: 'files_write', arguments: {} })
      expect(refused.result).toMatchObject({ isError: true })
      expect(refused.result.content[0].text).toContain(
        'The profile codex.reviewer (profiles.json:6) does not select the tool files/write.',
      )
    }
  })

  it('with an empty selection, or one that matches nothing, selects no tool', async () => {
    for (const profile of ['nobody', 'stray', 'not-there']) {
      const ask = await both(await mintBearer(gateway, { agent: 'codex', profile }))
      expect(toolsOf((await ask.modern('tools/list')).message)).toEqual([])
      const { message } = await ask.legacy('tools/call', { name: 'files_read', arguments: {} })
      expect(message.result.content[0].text).toContain(`The profile codex.${profile}`)
    }
  })

  it('without a selection selects all tools, and so does the default of an agent that the file does not name', async () => {
    for (const wish of [{ agent: 'codex' }, { agent: 'cursor' }, {}]) {
      const ask = await both(await mintBearer(gateway, wish))
      expect(toolsOf((await ask.modern('tools/list')).message)).toEqual(
        expect.arrayContaining(['files_delete_all', 'docs_search', 'notes_list_notes', 'sallyport_read_file']),
      )
    }
  })

  it('selects no tool if the file names neither the variant nor its agent', async () => {
    const ask = await both(await mintBearer(gateway, { agent: 'cursor', profile: 'x' }))
    expect(toolsOf((await ask.modern('tools/list')).message)).toEqual([])
  })

  it(`${promise('GW-26')} hides resources, prompts and instructions of servers of which it selects no tool`, async () => {
    const seen = async (wish: object) => {
      const headers = await mintBearer(gateway, wish)
      const { modern } = await both(headers)
      const { message: prompts } = await modern('prompts/list')
      const { message: discovered } = await modern('server/discover')
      const { message: got } = await modern('prompts/get', { name: prompts.result.prompts[0]?.name ?? PROMPT })
      return { prompts: prompts.result.prompts.length, instructions: discovered.result.instructions ?? '', got }
    }
    const all = await seen({ agent: 'amp' })
    const PROMPT = 'notes_summarise_notes'
    expect(all.prompts).toBeGreaterThan(0)
    expect(all.instructions).toContain('Search before you create')
    const none = await seen({ agent: 'codex', profile: 'reviewer' })
    expect(none).toMatchObject({ prompts: 0, got: { error: expect.anything() } })
    expect(none.instructions).not.toContain('Search before you create')
  })

  it('in the path narrows what a credential gives, and never widens it', async () => {
    const at = async (path: string, wish: object) => {
      const headers = await mintBearer(gateway, wish)
      const { status, message } = await modernRequest(`${gateway.mcp}/${path}`, 'tools/list', {}, headers)
      return message.result ? toolsOf(message) : { status, text: JSON.stringify(message) }
    }
    expect(await at('codex.reviewer', {})).toEqual(['docs_search', 'files_read'])
    expect(await at('codex.Reviewer', { agent: 'codex' })).toEqual(['docs_search', 'files_read'])
    expect(await at('codex.reviewer', { tools: ['files'] })).toEqual(['files_read'])
    expect(await at('codex.reviewer', { agent: 'amp' })).toMatchObject({ status: 403 })
    expect(await at('codex.default', { agent: 'codex', profile: 'reviewer' })).toMatchObject({ status: 403 })
    expect(await at('codex.revewer', {})).toMatchObject({
      status: 404,
      text: expect.stringContaining('Did you mean \\"codex.reviewer\\"?'),
    })
  })

  it(`${promise('AG-10')} is narrowed by the tools of a launch, and not widened`, async () => {
    const ask = await both(
      await mintBearer(gateway, { agent: 'codex', profile: 'reviewer', tools: ['files', 'notes'] }),
    )
    expect(toolsOf((await ask.legacy('tools/list')).message)).toEqual(['files_read'])
    const refused = await ask.modern('tools/call', { name: 'docs_search', arguments: {} })
    expect(refused.message.result.content[0].text).toContain('The launch that this credential was made for does not')
    const nothing = await both(await mintBearer(gateway, { agent: 'codex', tools: [] }))
    expect(toolsOf((await nothing.modern('tools/list')).message)).toEqual([])
  })

  it('of a launch is not available to another credential that knows its session', async () => {
    const wish = { agent: 'codex', profile: 'reviewer', session: 'one' }
    const narrow = await LegacyClient.open(gateway.mcp, await mintBearer(gateway, { ...wish, tools: [] }))
    const thief = new LegacyClient(gateway.mcp, narrow.session, await mintBearer(gateway, wish))
    expect((await thief.request('tools/list')).status).toBe(404)
  })

  it('names the session of its launches', async () => {
    const headers = await mintBearer(gateway, { agent: 'codex', profile: 'sessioned' })
    await modernRequest(gateway.mcp, 'tools/call', { name: 'files_read', arguments: {} }, headers)
    expect(gateway.records()).toContainEqual(
      expect.objectContaining({ type: 'TOOL_CALL_STARTED', profile: 'sessioned', session: 'nightly' }),
    )
  })

  it('is recorded with a refusal as the rule that decided, with file and line', () => {
    const refused = gateway.records().find(({ type, profile }) => type === 'POLICY_DENIED' && profile === 'reviewer')
    expect(refused?.decided_by).toMatchObject({ rule: { file: expect.stringMatching(/profiles\.json$/), line: 6 } })
  })
})

describe('over stdio', () => {
  it(`${promise('AG-11')} a credential has what its profile selects, in both eras`, async () => {
    const gateway = await runProfiles(EXECUTORS)
    const { authorization = '' } = await mintBearer(gateway, { agent: 'codex', profile: 'reviewer' })
    const env = { SALLYPORT_TOKEN: authorization.slice('Bearer '.length) }
    const windows = { legacy: openWindow(gateway, { env }), modern: openWindow(gateway, { env }) }
    try {
      await windows.legacy.initialize()
      for (const [era, client] of Object.entries(windows)) {
        const meta = era === 'modern' ? { _meta: MODERN_ENVELOPE } : {}
        expect(toolsOf(await client.request('tools/list', meta))).toEqual(['docs_search', 'files_read'])
        const refused = await client.request('tools/call', { name: 'files_write', arguments: {}, ...meta })
        expect(JSON.stringify(refused)).toContain('The profile codex.reviewer (profiles.json:6) does not select')
        const called = await client.request('tools/call', { name: 'files_read', arguments: {}, ...meta })
        expect(called.result.isError).not.toBe(true)
      }
    } finally {
      for (const client of Object.values(windows)) await client.leave()
      await gateway.stop()
    }
  })

  it('the profile of callers without an agent applies, and changes at once', async () => {
    const gateway = await runProfiles({ ANY: { DEFAULT: { selected_mcp_tools: ['docs/search'] } } })
    const client = openWindow(gateway)
    try {
      await client.initialize()
      expect(await client.toolNames()).toEqual(['docs_search'])
      const notified = client.next(isToolChange)
      writeProfiles(gateway, { ANY: { DEFAULT: { selected_mcp_tools: ['files/read'] } } })
      await notified
      // What the servers' own start changes may be told first.
      await eventually(
        () => client.toolNames(),
        (names) => names.join() === 'files_read',
      )
      expect(JSON.stringify(await client.call('docs_search'))).toContain('The profile any.default (profiles.json:5)')
    } finally {
      await client.leave()
      await gateway.stop()
    }
  })
})
