import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { modernRequest } from '../harness/mcp-client.ts'
import { errorOf, runCommand } from '../harness/run-command.ts'
import { makePlace, type RunningGateway } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'
import { type ApiAnswer, askApi, mintBearer, runProfiles } from './profile-bench.ts'

let gateway: RunningGateway
beforeAll(async () => {
  gateway = await runProfiles({ CODEX: { DEFAULT: {}, REVIEWER: { selected_mcp_tools: ['docs'], model: { x: 1 } } } })
})
afterAll(() => gateway.stop())

const put = (path: string, etag: string | undefined, body: object): Promise<ApiAnswer> =>
  askApi(gateway, path, {
    method: 'PUT',
    body: JSON.stringify(body),
    ...(etag !== undefined && { headers: { 'if-match': etag } }),
  })
const toolsFor = async (profile: string): Promise<readonly string[]> => {
  const headers = await mintBearer(gateway, { agent: 'codex', profile })
  const { message } = await modernRequest(gateway.mcp, 'tools/list', {}, headers)
  return message.result.tools.map(({ name }: { name: string }) => name).sort()
}

describe(`${promise('AG-22')} the API of profiles`, () => {
  it('shows them with the number of tools, and an ETag for each', async () => {
    const { status, etag, body } = await askApi(gateway, '/api/profiles')
    expect({ status, etag }).toEqual({ status: 200, etag: '' })
    expect(body.profiles).toMatchObject([
      { name: 'codex.default' },
      { name: 'codex.reviewer', selectedMcpTools: ['docs'], tools: { selected: 2, unmatched: [] } },
    ])
    expect(body.profiles[0]).not.toHaveProperty('clientApproval')
    const one = await askApi(gateway, '/api/profiles/codex/Reviewer')
    expect(one).toMatchObject({
      etag: expect.stringMatching(/^"[0-9a-f]{64}"$/),
      body: { name: 'codex.reviewer', line: 6 },
    })
    expect(one.etag).toBe(`"${body.profiles[1].etag}"`)
  })

  it('lists the servers and tools of an agent, and which of them a profile selects', async () => {
    const { body } = await askApi(gateway, '/api/agents/codex/tools?variant=reviewer')
    const extents = body.servers.map(({ id, selected }: Record<string, string>) => [id, selected])
    expect(Object.fromEntries(extents)).toEqual({ sallyport: 'none', files: 'none', docs: 'all', notes: 'none' })
    const docs = body.servers.find(({ id }: { id: string }) => id === 'docs')
    expect(docs.tools).toContainEqual(
      expect.objectContaining({ canonical: 'mcp__docs__search', name: 'docs_search', selected: true, offered: true }),
    )
    const all = await askApi(gateway, '/api/agents/claude/tools')
    expect(all.body).toMatchObject({ agent: 'claude-code', variant: 'default' })
    expect(all.body.servers.every(({ selected }: { selected: string }) => selected === 'all')).toBe(true)
  })

  it('lists the types of agents; one without MCP has no servers, and an unknown one is an error', async () => {
    const { body } = await askApi(gateway, '/api/agents')
    expect(body.agents).toContainEqual(
      expect.objectContaining({ id: 'claude-code', aliases: ['claude'], supportsMcp: true, enforcement: 'strict' }),
    )
    expect((await askApi(gateway, '/api/agents/aider/tools')).body).toMatchObject({ supportsMcp: false, servers: [] })
    const noVariant = await askApi(gateway, '/api/agents/codex/tools?variant=reviwer')
    expect(noVariant).toMatchObject({ status: 404, body: { error: { code: 'PROFILE_UNKNOWN' } } })
    const unknown = await askApi(gateway, '/api/agents/codxe/tools')
    expect(unknown.status).toBe(404)
    expect(JSON.stringify(unknown.body)).toMatch(/AGENT_UNKNOWN[\s\S]*Did you mean \W*codex/)
  })

  it('changes one before it answers, and preserves unknown fields', async () => {
    const { etag } = await askApi(gateway, '/api/profiles/codex/reviewer')
    const body = { selectedMcpTools: ['files/read', 'nowhere'], title: 'Reads' }
    const changed = await put('/api/profiles/codex/reviewer', etag, body)
    expect(changed).toMatchObject({ status: 200, body: { ...body, tools: { selected: 1, unmatched: ['nowhere'] } } })
    expect(changed.etag).not.toBe(etag)
    expect(await toolsFor('reviewer')).toEqual(['files_read'])
    const { REVIEWER } = JSON.parse(readFileSync(join(gateway.home, 'profiles.json'), 'utf8')).executors.CODEX
    expect(REVIEWER).toEqual({ selected_mcp_tools: ['files/read', 'nowhere'], model: { x: 1 }, title: 'Reads' })
  })

  it('refuses to overwrite a change that the caller has not read', async () => {
    expect(await put('/api/profiles/codex/one', '*', {})).toMatchObject({ status: 200 })
    const { etag } = await askApi(gateway, '/api/profiles/codex/one')
    expect(await put('/api/profiles/codex/one', etag, { title: 'first' })).toMatchObject({ status: 200 })
    const late = await put('/api/profiles/codex/one', etag, { title: 'second' })
    expect(late).toMatchObject({ status: 412, body: { error: { code: 'PROFILES_CHANGED' } } })
    expect(late.body.error.message).toContain('was changed after it was read')
    const blind = await put('/api/profiles/codex/two', undefined, {})
    expect(blind).toMatchObject({ status: 428, body: { error: { code: 'PROFILES_UNREAD' } } })
    expect(await put('/api/profiles/codex/two', '*', {})).toMatchObject({ status: 200 })
    await put('/api/profiles/codex/race', '*', {})
    const raced = await Promise.all(
      ['a', 'b', 'c'].map(async (title) => {
        const seen = await askApi(gateway, '/api/profiles/codex/race')
        return { title, seen: seen.etag }
      }),
    )
    const answers = await Promise.all(raced.map(({ title, seen }) => put('/api/profiles/codex/race', seen, { title })))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 412, 412])
  })

  it('deletes one, whose tokens have no tool then, but not the default', async () => {
    const remove = (variant: string) =>
      askApi(gateway, `/api/profiles/codex/${variant}`, { method: 'DELETE', headers: { 'if-match': '*' } })
    expect(await remove('one')).toMatchObject({ status: 200, body: { name: 'codex.one' } })
    expect(await toolsFor('one')).toEqual([])
    expect(await remove('one')).toMatchObject({ status: 404, body: { error: { code: 'PROFILE_UNKNOWN' } } })
    expect(await remove('Default')).toMatchObject({ status: 400 })
    expect(await put('/api/profiles/codex/__x', '*', {})).toMatchObject({ status: 400 })
    expect(await put('/api/profiles/codex/x', '*', { selected: [] })).toMatchObject({ status: 400 })
    expect(await put('/api/profiles/co%20dex/x', '*', {})).toMatchObject({ status: 400 })
  })

  it('is for the operator only', async () => {
    for (const path of ['/api/profiles', '/api/agents/codex/tools']) {
      const headers = { authorization: `Bearer ${gateway.token('agent')}` }
      expect(await askApi(gateway, path, { headers })).toMatchObject({ status: 403 })
    }
  })
})

describe(`${promise('AG-6')} the command`, () => {
  it('changes the profiles of a gateway that runs, and warns of selectors that match nothing', async () => {
    const at = ['--home', gateway.home, '--state', gateway.state]
    const set = await runCommand(['profiles', 'set', 'codex.cli', 'docs/search', 'fiels', '!notes/none_*', ...at])
    expect(set).toMatchObject({ code: 0, stderr: expect.stringContaining('codex.cli has these tools: 1 of ') })
    expect(set.stderr).toContain('! codex.cli: "fiels" matches nothing.')
    expect(set.stderr).toContain('! codex.cli: "!notes/none_*" matches nothing.')
    const show = await runCommand(['profiles', 'show', 'codex.CLI', '--json', ...at])
    expect(JSON.parse(show.stdout)).toMatchObject({ name: 'codex.cli', tools: { selected: ['docs/search'] } })
  })

  it('has a default for every agent, and suggests an agent for an unknown name', async () => {
    const at = ['--home', gateway.home, '--state', gateway.state]
    const show = await runCommand(['profiles', 'show', 'goose', '--json', ...at])
    expect({ code: show.code, ...JSON.parse(show.stdout) }).toMatchObject({ code: 0, name: 'goose.default' })
    const missing = await askApi(gateway, '/api/profiles/goose/default')
    expect(missing.body.error.message).toBe('profiles.json does not name goose: its default has all tools.')
    const slip = await runCommand(['profiles', 'set', 'clade.x', 'docs', ...at])
    expect(slip).toMatchObject({ code: 0, stderr: expect.stringContaining('Did you mean "claude"?') })
    const own = await runCommand(['profiles', 'set', 'build-server.x', 'docs', ...at])
    expect(own).toMatchObject({ code: 0, stderr: expect.not.stringContaining('Did you mean') })
  })

  it('works without a gateway, accepts short names, and leaves the rest of the file as it was', async () => {
    const place = makePlace({})
    const file = join(place.home, 'profiles.json')
    const before = '{ "executors": { "GEMINI": { "DEFAULT": { "x": [1, 2] } } } }\n'
    writeFileSync(file, before)
    const profiles = (...words: readonly string[]) =>
      runCommand(['profiles', ...words, '--home', place.home, '--state', place.state])
    try {
      expect(await profiles('set', 'gemini', 'sallyport/read_file', '--budget', '900')).toMatchObject({ code: 0 })
      expect(JSON.parse((await profiles('--json')).stdout).profiles).toMatchObject([
        { name: 'gemini-cli.default', tokenBudget: 900, tools: { selected: ['sallyport/read_file'] } },
      ])
      expect(await profiles('set', 'gemini', '--all', '--budget', '0')).toMatchObject({ code: 0 })
      expect(readFileSync(file, 'utf8')).toBe(before)
      expect(await profiles('set', 'gemini', '--all', '--none')).toMatchObject({ code: 2 })
      expect(await profiles('delete', 'gemini')).toMatchObject({ code: 2 })
      expect(await profiles('delete', 'gemini.x')).toMatchObject({ code: 3 })
      writeFileSync(file, '{"executors": [}')
      const broken = await profiles('list', '--json')
      expect(broken.code).toBe(1)
      expect(errorOf(broken).message).toContain('profiles.json:1:16')
    } finally {
      place.remove()
    }
  })
})
