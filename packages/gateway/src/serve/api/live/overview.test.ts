import { expect, it } from 'vitest'
import { openAdminTestGateway } from '../../admin/admin.test-kit.ts'
import type { Me, Overview } from '../api.ts'

it('the overview counts what happened, and what needs a person', async () => {
  const admin = await openAdminTestGateway()
  const call = (tool: string) => admin.api('/api/call', { method: 'POST', body: { tool } })
  await call('hostile/echo')
  await call('hostile/die')
  const { status, body } = await admin.api('/api/overview')
  const { servers }: Overview = body
  expect(status).toBe(200)
  expect(body).toMatchObject({
    mode: { mode: 'NORMAL' },
    attention: { approvals: 0, logins: 0, deadServers: 0 },
    day: {
      counts: { calls: 1, failed: 0, refused: 1 },
      flow: { servers: [{ name: 'hostile', calls: 1 }] },
      answers: { approved: 0, denied: 0, expired: 0 },
    },
  })
  expect(servers.map(({ id, state }) => `${id} ${state}`)).toEqual(
    expect.arrayContaining(['hostile ready', 'remote disabled']),
  )
  expect(body.day.hours.reduce((sum: number, hour: { calls: number }) => sum + hour.calls, 0)).toBe(1)
  await call('hostile/echo')
  expect((await admin.api('/api/overview')).body.day.counts.calls).toBe(2)
  const later = await admin.api(`/api/overview?since=${new Date(Date.now() + 60_000).toISOString()}`)
  expect(later.body).toMatchObject({ day: { counts: { calls: 0, refused: 0 }, hours: [] }, changes: [] })
})

it('a caller learns its role', async () => {
  const admin = await openAdminTestGateway()
  const { body } = await admin.api('/api/me')
  const me: Me = { user: expect.any(String), role: 'operator' }
  expect(body).toEqual(me)
})

it.each(['/api/overview?since=yesterday', '/api/overview?until=2026-01-01T00:00:00Z'])(
  '%s is refused',
  async (path) => {
    const admin = await openAdminTestGateway()
    expect((await admin.api(path)).status).toBe(400)
  },
)
