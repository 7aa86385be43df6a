import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ANN } from '../../pipeline/pipeline.test-kit.ts'
import { logIn, openAdminTestGateway } from '../admin/admin.test-kit.ts'

describe('the mode', () => {
  it('is shown, set, stored and recorded with who set it and why', async () => {
    const { api, gateway } = await openAdminTestGateway()
    expect((await api('/api/mode')).body).toMatchObject({ mode: 'NORMAL', next: expect.arrayContaining(['ALERT']) })
    const put = await api('/api/mode', { method: 'PUT', body: { mode: 'ALERT', why: 'odd calls' } })
    expect(put.status).toBe(200)
    expect(put.body).toMatchObject({ mode: 'ALERT', via: 'api', why: 'odd calls', before: 'NORMAL' })
    const { before: _before, ...shown } = put.body
    expect((await api('/api/mode')).body).toEqual(shown)
    expect((await api('/api/status')).body.mode).toBe('ALERT')
    expect(JSON.parse(readFileSync(join(gateway.state, 'mode.json'), 'utf8')).mode).toBe('ALERT')
    expect(await gateway.store.find({ types: ['MODE_CHANGED'] })).toMatchObject([
      { from: 'NORMAL', to: 'ALERT', by: shown.by, via: 'api', why: 'odd calls' },
    ])
  })

  it('is refused if it may not follow, with the modes that may, or if its reason is missing', async () => {
    const { api } = await openAdminTestGateway()
    await api('/api/mode', { method: 'PUT', body: { mode: 'LOCKDOWN' } })
    const back = await api('/api/mode', { method: 'PUT', body: { mode: 'NORMAL', why: 'over' } })
    expect({ status: back.status, ...back.body.error }).toMatchObject({ status: 409, code: 'MODE_REFUSED' })
    const silent = await api('/api/mode', { method: 'PUT', body: { mode: 'RECOVERY' } })
    expect({ status: silent.status, ...silent.body.error }).toMatchObject({ status: 400, code: 'INVALID_PARAMS' })
    expect((await api('/api/mode')).body.mode).toBe('LOCKDOWN')
  })

  it.each([
    {},
    { mode: 'alert' },
    { mode: 'ALERT', why: 5 },
    { mode: 'ALERT', via: 'magic' },
    { mode: 'ALERT', by: 'somebody else' },
    { mode: 'ALERT', why: 'x'.repeat(1_001) },
  ])('is not set by %j', async (body) => {
    const { api } = await openAdminTestGateway()
    expect((await api('/api/mode', { method: 'PUT', body })).status).toBe(400)
    expect((await api('/api/mode')).body.mode).toBe('NORMAL')
  })

  it('change is decided again for each watcher of the lists, and sent to it', async () => {
    const { api, gateway } = await openAdminTestGateway()
    const notified = new Promise((resolve) => {
      const wants = { tools: true, resources: false, prompts: false }
      gateway.hub.add({ principal: ANN, wants, notify: resolve })
    })
    await api('/api/mode', { method: 'PUT', body: { mode: 'ALERT' } })
    expect(await notified).toEqual({ method: 'notifications/tools/list_changed' })
  })
})

describe('panic', () => {
  it('sets LOCKDOWN, also if it is sent twice', async () => {
    const { api } = await openAdminTestGateway()
    const first = await api('/panic?why=a%20key%20leaked', { method: 'POST' })
    expect(first.body).toMatchObject({ mode: 'LOCKDOWN', why: 'a key leaked', via: 'api', before: 'NORMAL' })
    const second = await api('/panic?via=cli', { method: 'POST' })
    expect(second.body).toMatchObject({ mode: 'LOCKDOWN', why: 'a key leaked', via: 'api', before: 'LOCKDOWN' })
  })

  it('and the mode are only for the operator', async () => {
    const { ask, agentToken, gateway } = await openAdminTestGateway()
    const authorization = `Bearer ${agentToken}`
    const tries: [string, string][] = [
      ['/panic', 'POST'],
      ['/api/mode', 'PUT'],
      ['/api/mode', 'GET'],
    ]
    for (const [path, method] of tries) {
      const body = method === 'PUT' ? { mode: 'LOCKDOWN' } : undefined
      expect((await ask(path, { method, body, headers: { authorization } })).status, path).toBe(403)
      expect((await ask(path, { method, body })).status, path).toBe(401)
    }
    expect(gateway.governance.modes.state.current.mode).toBe('NORMAL')
  })

  it('cannot be triggered by another page or by a link', async () => {
    const admin = await openAdminTestGateway()
    const cookie = await logIn(admin)
    const post = (headers: Record<string, string>) =>
      admin.ask('/panic', { method: 'POST', headers: { cookie, ...headers } })
    expect((await post({})).status).toBe(403)
    expect((await admin.ask('/panic', { headers: { cookie } })).status).toBe(405)
    expect(admin.gateway.governance.modes.state.current.mode).toBe('NORMAL')
    expect((await post({ origin: admin.origin, 'x-sallyport': '1' })).status).toBe(200)
  })
})
