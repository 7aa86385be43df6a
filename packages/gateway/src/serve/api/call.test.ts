import { request } from 'node:http'
import type { LoggedEvent } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import { eventually } from '../../../../../tests/harness/processes.ts'
import { type AdminTestGateway, openAdminTestGateway } from '../admin/admin.test-kit.ts'

const call = (admin: AdminTestGateway, body: object) => admin.api('/api/call', { method: 'POST', body })

const callsIn = async ({ gateway }: AdminTestGateway): Promise<readonly string[]> =>
  (await gateway.store.find({ server: 'hostile' })).flatMap((event) => ('call_id' in event ? [event.type] : []))

describe('a call over the API', () => {
  it('goes through the pipeline and is recorded with the ids in its answer', async () => {
    const admin = await openAdminTestGateway()
    const { status, body } = await call(admin, { tool: 'hostile/echo', arguments: { text: 'hello' } })
    expect(status).toBe(200)
    expect(body).toMatchObject({ outcome: 'allow', result: { content: [{ type: 'text' }] } })
    expect(body.result.content[0].text).toContain('hello')
    expect(body.steps.map(({ step }: { step: string }) => step)).toContain('limits')
    const records = await admin.gateway.store.find({ callId: body.call_id })
    expect(records.map(({ type }) => type)).toEqual(['TOOL_CALL_STARTED', 'TOOL_CALL_COMPLETED'])
    expect(records[0]).toMatchObject({ trace_id: body.trace_id, session: 'operator', tool_name: 'mcp__hostile__echo' })
  })

  it('sends every key of the arguments to the server', async () => {
    const admin = await openAdminTestGateway()
    const body = '{"tool":"hostile/echo","arguments":{"__proto__":{"a":1},"constructor":0,"":[]}}'
    const reply = await admin.api('/api/call', { method: 'POST', body })
    expect(JSON.parse(reply.body.result.content[0].text)).toEqual(
      JSON.parse('{"__proto__":{"a":1},"constructor":0,"":[]}'),
    )
  })

  it('belongs to the trace that the caller names', async () => {
    const admin = await openAdminTestGateway()
    const trace = '0af7651916cd43dd8448eb211c80319c'
    const headers = { traceparent: `00-${trace}-b7ad6b7169203331-01` }
    const { body } = await admin.api('/api/call', { method: 'POST', body: { tool: 'echo' }, headers })
    expect(body.trace_id).toBe(trace)
  })

  it('returns a tool’s own error as a result, and a protocol error as the server sent it', async () => {
    const admin = await openAdminTestGateway()
    expect(await call(admin, { tool: 'hostile/tool-error' })).toMatchObject({
      status: 200,
      body: { result: { isError: true } },
    })
    expect(await call(admin, { tool: 'hostile/error' })).toMatchObject({
      status: 200,
      body: { outcome: 'allow', rpc_error: { code: expect.any(Number), message: expect.any(String) } },
    })
  })

  it('that is refused names the step that refused, and is recorded as refused', async () => {
    const admin = await openAdminTestGateway()
    const { status, body } = await call(admin, { tool: 'hostile/die' })
    expect(status).toBe(403)
    expect(body).toMatchObject({ outcome: 'deny', decidedBy: { step: 'select' }, error: { code: 'CALL_DENIED' } })
    expect(await admin.gateway.store.find({ callId: body.call_id })).toMatchObject([{ type: 'POLICY_DENIED' }])
  })

  it('that crashes the server is answered with the status of that failure', async () => {
    const admin = await openAdminTestGateway()
    const { status, body } = await call(admin, { tool: 'hostile/kill-self' })
    expect(status).toBe(502)
    expect(body).toMatchObject({ outcome: 'allow', error: { code: 'UPSTREAM_DIED' } })
  })

  it('can be made by the operator in the name of an agent', async () => {
    const admin = await openAdminTestGateway()
    const { body } = await call(admin, { tool: 'echo', as: { agent: 'codex', profile: 'reviewer' } })
    expect((await admin.gateway.store.find({ callId: body.call_id }))[0]).toMatchObject({
      agent: 'codex',
      profile: 'reviewer',
    })
  })
})

describe('a call in the name of an agent', () => {
  it.each([
    { agent: 'co\ndex' },
    { agent: ' ' },
    { agent: '' },
    { agent: 'x'.repeat(257) },
    { agent: 'codex', profile: '\u202eevil' },
  ])('is refused for %j, and not recorded', async (as) => {
    const admin = await openAdminTestGateway()
    const { status, body } = await call(admin, { tool: 'echo', as })
    expect({ status, code: body.error.code }).toEqual({ status: 400, code: 'INVALID_PARAMS' })
    expect(await callsIn(admin)).toEqual([])
  })
})

describe('a dry run', () => {
  it('decides, but neither calls nor records', async () => {
    const admin = await openAdminTestGateway()
    await admin.api('/api/tools')
    const allowed = await call(admin, { tool: 'hostile/kill-self', dryRun: true })
    expect(allowed).toMatchObject({ status: 200, body: { outcome: 'allow' } })
    expect(allowed.body.result).toBeUndefined()
    const denied = await call(admin, { tool: 'hostile/die', dryRun: true })
    expect(denied).toMatchObject({ status: 200, body: { outcome: 'deny', decidedBy: { step: 'select' } } })
    expect(await callsIn(admin)).toEqual([])
    expect(admin.gateway.fleet.get('hostile')?.status().state).toBe('ready')
  })
})

it('a client that disconnects cancels its call', async () => {
  const admin = await openAdminTestGateway()
  // A call before the server is ready may be refused, and then never starts.
  await eventually(
    () => admin.api('/api/call', { method: 'POST', body: { tool: 'hostile/echo' } }),
    ({ status }) => status === 200,
  )
  const nextEvent = (type: string): Promise<LoggedEvent> =>
    new Promise((resolve) => {
      const stop = admin.gateway.store.log.watch((event) => {
        if (event.type !== type) return
        stop()
        resolve(event)
      })
    })
  const [started, failed] = [nextEvent('TOOL_CALL_STARTED'), nextEvent('TOOL_CALL_FAILED')]
  const headers = { authorization: `Bearer ${admin.operatorToken}`, 'content-type': 'application/json' }
  const outgoing = request(`${admin.url}/api/call`, { method: 'POST', headers, agent: false })
  outgoing.on('error', () => {})
  outgoing.end(JSON.stringify({ tool: 'hostile/hang' }))
  await started
  outgoing.destroy()
  expect(await failed).toMatchObject({ error: 'CALL_CANCELLED', tool_name: 'mcp__hostile__hang' })
  await expect.poll(() => admin.gateway.gauge.inFlight).toBe(0)
})
