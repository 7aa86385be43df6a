import { SallyportError } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import { OPERATOR, openAdminTestGateway } from '../admin/admin.test-kit.ts'
import { createApi } from './api.ts'

describe('tokens', () => {
  it('are minted, shown once, listed without the token itself, and revoked', async () => {
    const { api, gateway } = await openAdminTestGateway()
    const minted = await api('/api/tokens', { method: 'POST', body: { agent: 'codex', ttlMs: 60_000 } })
    expect(minted.status).toBe(201)
    const { token, record } = minted.body
    expect(gateway.tokens.verify(token)?.principal).toMatchObject({ agent: 'codex', profile: 'default', role: 'agent' })

    const listed = await api('/api/tokens')
    expect(listed.body.tokens).toEqual([record])
    expect(listed.text).not.toContain(token)

    expect(await api(`/api/tokens/${record.id}`, { method: 'DELETE' })).toMatchObject({ body: { id: record.id } })
    expect(gateway.tokens.verify(token)).toBeUndefined()
    const events = await gateway.store.find({ types: ['TOKEN_MINTED', 'TOKEN_REVOKED'] })
    expect(events).toMatchObject([
      { type: 'TOKEN_MINTED', token_id: record.id, agent: 'codex', profile: 'default' },
      { type: 'TOKEN_REVOKED', token_id: record.id },
    ])
    expect(JSON.stringify(events)).not.toContain(token)
  })

  it('cannot open the admin plane', async () => {
    const { api, ask } = await openAdminTestGateway()
    const { token } = (await api('/api/tokens', { method: 'POST', body: {} })).body
    expect((await ask('/api/tokens', { headers: { authorization: `Bearer ${token}` } })).status).toBe(403)
  })

  it.each(['0123456789abcdef', '..%2Foperator', 'operator', '%00'])(
    'are not revoked by an invalid id (%s)',
    async (id) => {
      const { api } = await openAdminTestGateway()
      const { status, body } = await api(`/api/tokens/${id}`, { method: 'DELETE' })
      expect({ status, code: body.error.code }).toEqual({ status: 404, code: 'TOKEN_UNKNOWN' })
      expect((await api('/api/status')).status).toBe(200)
    },
  )

  it.each([{ agent: '' }, { agent: 'a\nb' }, { ttlMs: 0 }, { ttlMs: 1e300 }, { user: 'root' }])(
    'are not minted from %j',
    async (body) => {
      const { api, gateway } = await openAdminTestGateway()
      expect(await api('/api/tokens', { method: 'POST', body })).toMatchObject({
        status: 400,
        body: { error: { code: 'INVALID_PARAMS' } },
      })
      expect(gateway.tokens.list()).toEqual([])
    },
  )

  it('that cannot be recorded are not returned', async () => {
    const { context, gateway } = await openAdminTestGateway()
    const fullDisk = (): never => {
      throw new SallyportError('AUDIT_UNAVAILABLE', 'The disk is full.')
    }
    const store = { ...context.store, log: { ...context.store.log, append: fullDisk } } as typeof context.store
    const api = createApi(Object.create(context, { store: { value: store } }))
    const body = JSON.stringify({ agent: 'codex' })
    const init = { method: 'POST', body, headers: { 'content-type': 'application/json' } }
    const response = await api.request('/api/tokens', init, { principal: OPERATOR })
    expect(response.status).toBe(503)
    expect(gateway.tokens.list()).toEqual([])
  })
})

it('a login link from the API logs a browser in', async () => {
  const { api, ask } = await openAdminTestGateway()
  const { body } = await api('/api/login-links', { method: 'POST' })
  expect(body.path).toMatch(/^\/login\?token=[\w-]{43}$/)
  expect((await ask(body.path)).status).toBe(303)
})
