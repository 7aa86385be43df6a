import { describe, expect, it } from 'vitest'
import { type AdminTestGateway, openAdminTestGateway } from '../admin/admin.test-kit.ts'

const TRACE = '0af7651916cd43dd8448eb211c80319c'

async function callIn(admin: AdminTestGateway, tool: string, trace: string): Promise<string> {
  const headers = { traceparent: `00-${trace}-b7ad6b7169203331-01` }
  return (await admin.api('/api/call', { method: 'POST', body: { tool }, headers })).body.call_id
}

describe('explain', () => {
  it('returns all records of a trace, grouped by call', async () => {
    const admin = await openAdminTestGateway()
    const ids = [await callIn(admin, 'hostile/echo', TRACE), await callIn(admin, 'hostile/die', TRACE)]
    const { body } = await admin.api(`/api/explain/${TRACE}`)
    expect(body).toMatchObject({ id: TRACE, kind: 'trace' })
    expect(body.calls.map((call: { call_id: string }) => call.call_id)).toEqual(ids)
    expect(body.calls[0].records).toMatchObject([{ type: 'TOOL_CALL_STARTED' }, { type: 'TOOL_CALL_COMPLETED' }])
    expect(body.calls[1].records).toMatchObject([{ type: 'POLICY_DENIED', decided_by: { step: 'select' } }])
  })

  it('returns only one call for a call id', async () => {
    const admin = await openAdminTestGateway()
    const [first] = [await callIn(admin, 'hostile/echo', TRACE), await callIn(admin, 'hostile/echo', TRACE)]
    const { body } = await admin.api(`/api/explain/${first}`)
    expect(body).toMatchObject({ id: first, kind: 'call', calls: [{ call_id: first, trace_id: TRACE }] })
  })

  it('accepts the beginning of an id if it is unique', async () => {
    const admin = await openAdminTestGateway()
    await callIn(admin, 'hostile/echo', TRACE)
    await callIn(admin, 'hostile/echo', TRACE.replace('1916', '1917'))
    expect((await admin.api(`/api/explain/${TRACE.slice(0, 12)}`)).body).toMatchObject({ id: TRACE, kind: 'trace' })
    expect(await admin.api(`/api/explain/${TRACE.slice(0, 7).toUpperCase()}`)).toMatchObject({
      status: 400,
      body: { error: { code: 'NAME_AMBIGUOUS' } },
    })
  })

  it.each([
    ['ffffffffffff', 404, 'TRACE_UNKNOWN'],
    ['0af76', 400, 'INVALID_PARAMS'],
    ['hostile', 400, 'INVALID_PARAMS'],
  ])('refuses %s', async (id, status, code) => {
    const admin = await openAdminTestGateway()
    expect(await admin.api(`/api/explain/${id}`)).toMatchObject({ status, body: { error: { code } } })
  })
})
