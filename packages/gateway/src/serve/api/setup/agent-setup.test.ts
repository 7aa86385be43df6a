import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openAdminTestGateway } from '../../admin/admin.test-kit.ts'
import type { AgentConnection, AgentFiles, FoundAgents } from '../api.ts'

describe('the files of an agent', () => {
  it('are shown with their servers, without secrets, and with what the gateway has already', async () => {
    const admin = await openAdminTestGateway()
    const { path: home } = admin.gateway.home
    const token = `ghp_${'a1B2'.repeat(9)}`
    await mkdir(join(home, '.cursor'), { recursive: true })
    const remote = { url: 'http://127.0.0.1:9/mcp' }
    const mcpServers = { github: { command: 'npx', args: ['gh'], env: { GITHUB_TOKEN: token } }, broken: 3, remote }
    await writeFile(join(home, '.cursor', 'mcp.json'), JSON.stringify({ mcpServers }))
    const { status, body, text } = await admin.api('/api/agents/cursor/files')
    expect(status).toBe(200)
    expect(text).not.toContain(token)
    const files: AgentFiles = body
    expect(files).toMatchObject({ agent: 'cursor', supportsMcp: true })
    const file = files.files.find(({ scope }) => scope === 'user')
    expect(file).toMatchObject({ path: join(home, '.cursor', 'mcp.json'), state: 'read' })
    expect(file?.servers.find(({ name }) => name === 'github')?.entry).toMatchObject({
      command: 'npx',
      // biome-ignore lint/suspicious/noTemplateCurlyInString: a reference to a variable.
      env: { GITHUB_TOKEN: '${GITHUB_TOKEN}' },
    })
    expect(file?.problems.join()).toContain('broken')
  })

  it('may be missing or broken', async () => {
    const admin = await openAdminTestGateway()
    await writeFile(join(admin.gateway.home.path, '.claude.json'), '{')
    const { body } = await admin.api('/api/agents/claude-code/files')
    const states = body.files.map(({ state }: AgentFiles['files'][number]) => state)
    expect(states).toContain('broken')
    expect((await admin.api('/api/agents/nobody/files')).status).toBe(404)
  })

  it('can be imported by name', async () => {
    const admin = await openAdminTestGateway()
    await mkdir(join(admin.gateway.home.path, '.cursor'), { recursive: true })
    const mcpServers = { one: { command: 'a' }, two: { command: 'b' } }
    await writeFile(join(admin.gateway.home.path, '.cursor', 'mcp.json'), JSON.stringify({ mcpServers }))
    const preview = (servers: readonly string[]) =>
      admin.api('/api/config/preview', {
        method: 'POST',
        body: { changes: [{ kind: 'import', agent: 'cursor', servers }] },
      })
    expect((await preview(['two'])).body).toMatchObject({ added: ['two'], imported: { added: [{ id: 'two' }] } })
    expect((await preview(['three'])).status).toBe(404)
  })
})

describe('the agents on this machine', () => {
  it('are those with a program or a file; a server of two agents is imported once', async () => {
    const admin = await openAdminTestGateway()
    const { path: home } = admin.gateway.home
    const token = `ghp_${'a1B2'.repeat(9)}`
    for (const folder of ['.cursor', '.codex']) await mkdir(join(home, folder), { recursive: true })
    const mcpServers = { notes: { command: 'npx', args: ['notes'], env: { TOKEN: token } }, remote: { command: '' } }
    await writeFile(join(home, '.cursor', 'mcp.json'), JSON.stringify({ mcpServers }))
    await writeFile(join(home, '.codex', 'config.toml'), '[mcp_servers.same]\ncommand = "npx"\nargs = ["notes"]\n')
    const { status, body, text } = await admin.api('/api/found-agents')
    expect(status).toBe(200)
    expect(text).not.toContain(token)
    const { agents, importable }: FoundAgents = body
    expect(agents.map(({ agent }) => agent)).toEqual(expect.arrayContaining(['cursor', 'codex']))
    for (const { program, files } of agents)
      expect(program !== undefined || files.some(({ state }) => state !== 'missing')).toBe(true)
    const names = importable.map(({ from }) => from.map(({ agent, name }) => `${agent} ${name}`).sort())
    expect(names).toEqual([['codex same', 'cursor notes']])
    expect(importable[0]?.secrets).toBe(1)
  })
})

describe('connecting an agent', () => {
  it('gives the entry to paste and a token for it that expires', async () => {
    const admin = await openAdminTestGateway()
    const { status, body } = await admin.api('/api/agents/cursor/connect', { method: 'POST', body: { days: 7 } })
    expect(status).toBe(201)
    const connection: AgentConnection = body
    expect(connection).toMatchObject({ agent: 'cursor', variant: 'default', variable: 'SALLYPORT_TOKEN_CURSOR' })
    expect(connection.entry).toContain('SALLYPORT_TOKEN_CURSOR')
    expect(connection.entry).not.toContain(connection.token)
    const days = (Date.parse(connection.expires) - Date.now()) / 86_400_000
    expect(Math.round(days)).toBe(7)
    const { tokens } = (await admin.api('/api/tokens')).body
    expect(tokens).toMatchObject([{ id: connection.tokenId, agent: 'cursor', expires: connection.expires }])
    const tools = await admin.ask('/mcp', {
      method: 'POST',
      headers: { authorization: `Bearer ${connection.token}`, accept: 'application/json, text/event-stream' },
      body: {
        jsonrpc: '2.0',
        id: 1,
        method: 'initialize',
        params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
      },
    })
    expect(tools.status).toBe(200)
  })

  it.each([
    ['nobody', {}, 404],
    ['cursor', { variant: 'missing' }, 404],
    ['cursor', { days: 0 }, 400],
    ['cursor', { days: 4_000 }, 400],
    ['cursor', { forever: true }, 400],
    ['aider', {}, 400],
  ])('refuses %s %j', async (agent, body, status) => {
    const admin = await openAdminTestGateway()
    expect((await admin.api(`/api/agents/${agent}/connect`, { method: 'POST', body })).status).toBe(status)
    expect((await admin.api('/api/tokens')).body.tokens).toEqual([])
  })
})
