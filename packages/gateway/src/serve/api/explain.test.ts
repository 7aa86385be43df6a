import { describe, expect, it } from 'vitest'
import { type AdminTestGateway, openAdminTestGateway } from '../admin/admin.test-kit.ts'

const TRACE = '0af7651916cd43dd8448eb211c80319c'

async function callIn(bench: AdminTestGateway, tool: string, trace: string): Promise<string> {
  const headers = { traceparent: `00-${trace}-b7ad6b7169203331-01` }
  return (await bench.api('/api/call', { method: 'POST', body: { tool }, headers })).body.call_id
}

describe('explaining', () => {
  it('gives all records of a trace, call by call', async () => {
    const bench = await openAdminTestGateway()
    const ids = [await callIn(bench, 'hostile/echo', TRACE), await callIn(bench, 'hostile/die', TRACE)]
    const { body } = await bench.api(`/api/explain/${TRACE}`)
    expect(body).toMatchObject({ id: TRACE, kind: 'trace' })
    expect(body.calls.map((call: { call_id: string }) => call.call_id)).toEqual(ids)
    expect(body.calls[0].records).toMatchObject([{ type: 'TOOL_CALL_STARTED' }, { type: 'TOOL_CALL_COMPLETED' }])
    expect(body.calls[1].records).toMatchObject([{ type: 'POLICY_DENIED', decided_by: { step: 'select' } }])
  })

  it('gives one call alone by its id', async () => {
    const bench = await openAdminTestGateway()
    const [first] = [await callIn(bench, 'hostile/echo', TRACE), await callIn(bench, 'hostile/echo', TRACE)]
    const { body } = await bench.api(`/api/explain/${first}`)
    expect(body).toMatchObject({ id: first, kind: 'call', calls: [{ call_id: first, trace_id: TRACE }] })
  })

  it('takes the beginning of an id that only one has', async () => {
    const bench = await openAdminTestGateway()
    await callIn(bench, 'hostile/echo', TRACE)
    await callIn(bench, 'hostile/echo', TRACE.replace('1916', '1917'))
    expect((await bench.api(`/api/explain/${TRACE.slice(0, 12)}`)).body).toMatchObject({ id: TRACE, kind: 'trace' })
    expect(await bench.api(`/api/explain/${TRACE.slice(0, 7).toUpperCase()}`)).toMatchObject({
      status: 400,
      body: { error: { code: 'NAME_AMBIGUOUS' } },
    })
  })

  it.each([
    ['ffffffffffff', 404, 'TRACE_UNKNOWN'],
    ['0af76', 400, 'INVALID_PARAMS'],
    ['hostile', 400, 'INVALID_PARAMS'],
  ])('refuses %s', async (id, status, code) => {
    const bench = await openAdminTestGateway()
    expect(await bench.api(`/api/explain/${id}`)).toMatchObject({ status, body: { error: { code } } })
  })
})
