import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../../../tests/promises.ts'
import { openAdminTestGateway } from '../../admin/admin.test-kit.ts'
import type { ConfigPreviewView, ServerChangeInput } from '../api.ts'

const CONFIG = `# ours
mcp_servers:
  # the only one
  notes: {command: "true", enabled: false, env: {API_TOKEN: a-literal-secret}} # off
`

async function openEditedGateway(config = CONFIG) {
  const admin = await openAdminTestGateway()
  const path = join(admin.gateway.home.path, 'config.yaml')
  await writeFile(path, config)
  const send = (route: string, body: object) => admin.api(`/api/config/${route}`, { method: 'POST', body })
  const preview = async (...changes: readonly ServerChangeInput[]): Promise<ConfigPreviewView> => {
    const { status, body } = await send('preview', { changes })
    expect({ status, error: body.error }).toEqual({ status: 200 })
    return body
  }
  return { admin, path, send, preview, read: () => readFile(path, 'utf8') }
}

const ADD: ServerChangeInput = { kind: 'add', id: 'files', entry: { command: 'npx', args: ['-y', 'files'] } }

describe('a change of the servers', () => {
  it(`${promise('WEB-16')} is shown as an exact diff, then written with the comments kept, and recorded`, async () => {
    const { admin, send, preview, read } = await openEditedGateway()
    const shown = await preview(ADD)
    expect(shown).toMatchObject({ added: ['files'], removed: [], warnings: [] })
    expect(shown.diff).toEqual(
      ['  files:', '    command: npx', '    args: ["-y", files]'].map((text, at) => ({
        mark: '+',
        text,
        line: at + 5,
      })),
    )
    expect(await read()).toBe(CONFIG)
    expect((await send('apply', { changes: [ADD], hash: shown.hash })).status).toBe(200)
    expect(await read()).toBe(`${CONFIG}${shown.diff.map(({ text }) => `${text}\n`).join('')}`)
    const { events } = (await admin.api('/api/events?type=CONFIG_WRITTEN')).body
    expect(events).toMatchObject([{ added: ['files'], removed: [], changed: [], via: 'api' }])
  })

  it('is not written if the file is another by now, or if the change is not what was shown', async () => {
    const { send, preview, path, read } = await openEditedGateway()
    const { hash } = await preview(ADD)
    const other = await send('apply', { changes: [{ ...ADD, id: 'more' }], hash })
    expect({ status: other.status, code: other.body.error.code }).toEqual({ status: 409, code: 'CONFIG_CHANGED' })
    await writeFile(path, `${CONFIG}# somebody else\n`)
    expect((await send('apply', { changes: [ADD], hash })).body.error.code).toBe('CONFIG_CHANGED')
    expect(await read()).toBe(`${CONFIG}# somebody else\n`)
  })

  it('warns of what it is about, and not of what the file had before', async () => {
    const odd = `${CONFIG}  odd: {command: "true", enabled: false, colour: red}\n`
    const { preview } = await openEditedGateway(odd)
    expect((await preview(ADD)).warnings).toEqual([])
    expect((await preview({ kind: 'remove', id: 'odd' })).warnings).toEqual([])
    const own = (await preview({ kind: 'enable', id: 'odd', enabled: true })).warnings
    expect(own).toEqual([expect.stringContaining('mcp_servers.odd.colour')])
    const worse = { ...ADD, entry: { command: 'npx', taste: 'sour' } } as const
    expect((await preview(worse)).warnings).toEqual([expect.stringContaining('mcp_servers.files.taste')])
  })

  it('never shows a secret of the file', async () => {
    const { preview, send } = await openEditedGateway()
    const removed = await preview({ kind: 'remove', id: 'notes' })
    expect(removed.removed).toEqual(['notes'])
    expect(JSON.stringify(removed)).not.toContain('a-literal-secret')
    const refused = await send('preview', { changes: [{ kind: 'change', id: 'notes', fields: { env: 3 } }] })
    expect(refused.status).toBe(400)
    expect(refused.text).not.toContain('a-literal-secret')
  })

  it(`${promise('WEB-3')} starts from the entry as it is written, keeps a secret that is left masked, and is refused if the entry is another by now`, async () => {
    const { admin, preview, send, path, read } = await openEditedGateway()
    const { status, body, text } = await admin.api('/api/servers/notes/entry')
    expect({ status, entry: body.entry, line: body.line }).toEqual({
      status: 200,
      entry: { command: 'true', enabled: false, env: { API_TOKEN: '•••' } },
      line: 4,
    })
    expect(text).not.toContain('a-literal-secret')
    const fields = { env: { API_TOKEN: '•••', LEVEL: 'info' } }
    const change: ServerChangeInput = { kind: 'change', id: 'notes', fields, was: body.version }
    const { hash } = await preview(change)
    expect((await send('apply', { changes: [change], hash })).status).toBe(200)
    expect(await read()).toBe(CONFIG.replace('secret}', 'secret, LEVEL: "info"}'))
    const late = await send('preview', { changes: [change] })
    expect({ status: late.status, code: late.body.error.code }).toEqual({ status: 409, code: 'CONFIG_CHANGED' })
    const guess = await send('preview', { changes: [{ kind: 'change', id: 'notes', fields: { cwd: '/•••' } }] })
    expect(guess.body.error.message).toContain('cwd is masked')
    await writeFile(path, 'mcp_servers: [')
    expect((await admin.api('/api/servers/notes/entry')).status).toBeLessThan(500)
    expect((await admin.api('/api/servers/nobody/entry')).status).toBe(404)
  })

  it('is refused with the line if the gateway would not accept the result', async () => {
    const { send, read } = await openEditedGateway()
    const changes = [{ kind: 'add', id: 'bad', entry: { command: 'x', url: 'nowhere', per: 'never' } }]
    const { body } = await send('preview', { changes })
    expect(body.error.code).toBe('INVALID_PARAMS')
    expect(body.error.message).toMatch(/config\.yaml:\d+:\d+ /)
    expect(await read()).toBe(CONFIG)
  })

  it('takes the servers of pasted text, with secrets replaced by variables', async () => {
    const { preview } = await openEditedGateway()
    const token = `ghp_${'a1B2'.repeat(9)}`
    const text = JSON.stringify({ mcpServers: { github: { command: 'npx', env: { GITHUB_TOKEN: token } } } })
    const shown = await preview({ kind: 'paste', text })
    expect(JSON.stringify(shown)).not.toContain(token)
    expect(shown.imported?.added).toMatchObject([{ id: 'github', unset: ['GITHUB_TOKEN'] }])
    const lines = shown.diff.map(({ text: line }) => line)
    expect(lines).toContain('    enabled: false')
    expect(lines.find((line) => line.includes('GITHUB_TOKEN:'))).toMatch(/GITHUB_TOKEN: .?\$\{GITHUB_TOKEN\}/)
  })

  it.each([
    [{ changes: [] }],
    [{ changes: [{ kind: 'add', id: '../x', entry: {} }] }],
    [{ changes: [{ kind: 'add', id: 'x' }] }],
    [{ changes: [{ kind: 'rename', id: 'x' }] }],
    [{ changes: [{ kind: 'enable', id: 'notes', enabled: 'yes' }] }],
    [{ changes: [{ kind: 'remove', id: 'notes', force: true }] }],
    [{ changes: [{ kind: 'paste', text: 'hello' }] }],
    [{ changes: [{ kind: 'import', agent: 'nobody' }] }],
    [{ changes: [{ kind: 'add', id: 'x', entry: JSON.parse('{"__proto__": {"command": "y"}}') }] }],
  ])('is refused: %j', async (body) => {
    const { send, read } = await openEditedGateway()
    const { status } = await send('preview', body)
    expect(status).toBeGreaterThanOrEqual(400)
    expect(status).toBeLessThan(500)
    expect(await read()).toBe(CONFIG)
  })
})

describe('restarting a server', () => {
  it('gives it a new process', async () => {
    const admin = await openAdminTestGateway()
    const ready = async () => {
      await admin.api('/api/tools?server=hostile')
      return (await admin.api('/api/servers/hostile')).body
    }
    const before = (await ready()).pid
    const { status } = await admin.api('/api/servers/hostile/restart', { method: 'POST', body: {} })
    expect(status).toBe(200)
    await expect.poll(async () => (await ready()).state, { timeout: 20_000 }).toBe('ready')
    expect((await ready()).pid).not.toBe(before)
    const { events } = (await admin.api('/api/events?type=UPSTREAM_RESTART_REQUESTED')).body
    expect(events).toMatchObject([{ server: 'hostile', via: 'api' }])
  })

  it.each([
    ['remote', 400],
    ['sallyport', 400],
    ['nobody', 404],
  ])('refuses %s', async (id, status) => {
    const admin = await openAdminTestGateway()
    expect((await admin.api(`/api/servers/${id}/restart`, { method: 'POST', body: {} })).status).toBe(status)
  })
})
