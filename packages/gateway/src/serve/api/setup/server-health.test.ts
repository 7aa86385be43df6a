import { expect, it } from 'vitest'
import { openAdminTestGateway } from '../../admin/admin.test-kit.ts'
import type { ServerHealth } from '../api.ts'

it('the health of a server is read from the records, without gaps', async () => {
  const admin = await openAdminTestGateway()
  await admin.api('/api/call', { method: 'POST', body: { tool: 'hostile/echo' } })
  admin.gateway.record({ type: 'UPSTREAM_LOST', server: 'hostile', reason: 'it ended' })
  admin.gateway.record({ type: 'UPSTREAM_LOST', server: 'another', reason: 'not this one' })
  const health: ServerHealth = (await admin.api('/api/servers/hostile/health')).body
  const { spans } = health
  expect(spans[0]).toMatchObject({ from: health.since, state: 'unknown' })
  expect(spans.map(({ state }) => state)).toContain('up')
  expect(spans.at(-1)).toMatchObject({ state: 'down', reason: 'it ended' })
  for (const [at, span] of spans.slice(1).entries()) expect(span.from).toBe(spans[at]?.to)
  expect(health).toMatchObject({ restarts: 0, latency: { calls: 1 } })
  expect(health.changes[0]?.added).toContain('echo')
})

it('its restarts are all that were tried, also those that failed or that a person wanted', async () => {
  const admin = await openAdminTestGateway()
  const countRestarts = async () => (await admin.api('/api/servers/hostile/health')).body.restarts
  const lose = (server: string) => admin.gateway.record({ type: 'UPSTREAM_LOST', server, reason: 'it ended' })
  await admin.api('/api/tools?server=hostile')
  expect(await countRestarts()).toBe(0)
  for (const server of ['hostile', 'another', 'hostile', 'hostile']) lose(server)
  expect(await countRestarts()).toBe(2)
  admin.gateway.record({ type: 'UPSTREAM_RESTARTED', server: 'hostile', attempt: 3, took_ms: 1 })
  admin.gateway.record({ type: 'UPSTREAM_RESTARTED', server: 'hostile', instance: 'isolated', attempt: 1, took_ms: 1 })
  expect(await countRestarts()).toBe(3)
  expect((await admin.api('/api/servers/hostile/restart', { method: 'POST', body: {} })).status).toBe(200)
  expect(await countRestarts()).toBe(4)
  admin.gateway.record({ type: 'CONFIG_RELOADED', restarted: ['hostile'], added: [], removed: [] })
  admin.gateway.record({ type: 'CONFIG_RELOADED', restarted: ['remote'], added: [], removed: [] })
  expect(await countRestarts()).toBe(5)
})

it.each([
  ['/api/servers/nobody/health', 404],
  ['/api/servers/hostile/health?since=now', 400],
  ['/api/servers/hostile/health?days=3', 400],
])('%s is refused', async (path, status) => {
  const admin = await openAdminTestGateway()
  expect((await admin.api(path)).status).toBe(status)
})
