import { expect, it } from 'vitest'
import { openAdminTestGateway } from '../admin/admin.test-kit.ts'

it('shows every server with its state and what it offers', async () => {
  const { api } = await openAdminTestGateway()
  await api('/api/tools')
  const { body } = await api('/api/servers')
  const shown = Object.fromEntries(body.servers.map((server: { id: string }) => [server.id, server]))
  expect(Object.keys(shown).sort()).toEqual(['hostile', 'remote', 'sallyport'])
  expect(shown.hostile).toMatchObject({ kind: 'stdio', state: 'ready', era: 'legacy', restarts: 0 })
  expect(shown.hostile.tools).toBeGreaterThan(10)
  expect(shown.remote).toMatchObject({ kind: 'http', state: 'disabled', tools: 0, config: { enabled: false } })
  expect(shown.sallyport).toMatchObject({ kind: 'built-in', state: 'ready' })
})

it('shows an entry without anything that may be secret', async () => {
  const { api } = await openAdminTestGateway()
  const { text } = await api('/api/servers')
  expect(text).not.toContain('a-secret')
  const { body: hostile } = await api('/api/servers/hostile')
  expect(hostile.config).toMatchObject({ command: process.execPath, env: ['API_KEY'], excludeTools: ['die'] })
  expect(hostile.config.args[0]).toContain('hostile-server.mjs')
  expect(hostile.config.args[1]).toBe('--key=•••')
  const { body: remote } = await api('/api/servers/remote')
  expect(remote.config).toMatchObject({ url: 'http://127.0.0.1:9/mcp', headers: ['authorization'] })
})
