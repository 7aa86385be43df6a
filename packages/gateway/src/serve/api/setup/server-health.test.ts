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

it.each([
  ['/api/servers/nobody/health', 404],
  ['/api/servers/hostile/health?since=now', 400],
  ['/api/servers/hostile/health?days=3', 400],
])('%s is refused', async (path, status) => {
  const admin = await openAdminTestGateway()
  expect((await admin.api(path)).status).toBe(status)
})
