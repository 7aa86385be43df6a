import { request } from 'node:http'
import type { LoggedEvent } from '@sallyport/core'
import { describe, expect, it, vi } from 'vitest'
import { eventually } from '../../../../../tests/processes.ts'
import { type AdminTestGateway, openAdminTestGateway } from '../admin/admin.test-kit.ts'

const call = (bench: AdminTestGateway, body: object) => bench.api('/api/call', { method: 'POST', body })

const callsIn = async ({ gateway }: AdminTestGateway): Promise<readonly string[]> =>
  (await gateway.store.find({ server: 'hostile' })).flatMap((event) => ('call_id' in event ? [event.type] : []))

describe('a call over the API', () => {
  it('goes through the pipeline and is recorded under the ids that it answers', async () => {
    const bench = await openAdminTestGateway()
    const { status, body } = await call(bench, { tool: 'hostile/echo', arguments: { text: 'hello' } })
    expect(status).toBe(200)
    expect(body).toMatchObject({ outcome: 'allow', result: { content: [{ type: 'text' }] } })
    expect(body.result.content[0].text).toContain('hello')
    expect(body.steps.map(({ step }: { step: string }) => step)).toContain('limits')
    const records = await bench.gateway.store.find({ callId: body.call_id })
    expect(records.map(({ type }) => type)).toEqual(['TOOL_CALL_STARTED', 'TOOL_CALL_COMPLETED'])
    expect(records[0]).toMatchObject({ trace_id: body.trace_id, session: 'operator', tool_name: 'mcp__hostile__echo' })
  })

  it('carries any key of the arguments to the server', async () => {
    const bench = await openAdminTestGateway()
    const body = '{"tool":"hostile/echo","arguments":{"__proto__":{"a":1},"constructor":0,"":[]}}'
    const reply = await bench.api('/api/call', { method: 'POST', body })
    expect(JSON.parse(reply.body.result.content[0].text)).toEqual(
      JSON.parse('{"__proto__":{"a":1},"constructor":0,"":[]}'),
    )
  })

  it('belongs to the trace that the caller names', async () => {
    const bench = await openAdminTestGateway()
    const trace = '0af7651916cd43dd8448eb211c80319c'
    const headers = { traceparent: `00-${trace}-b7ad6b7169203331-01` }
    const { body } = await bench.api('/api/call', { method: 'POST', body: { tool: 'echo' }, headers })
    expect(body.trace_id).toBe(trace)
  })

  it('answers a tool’s own error as a result, and a protocol error as what the server said', async () => {
    const bench = await openAdminTestGateway()
    expect(await call(bench, { tool: 'hostile/tool-error' })).toMatchObject({
      status: 200,
      body: { result: { isError: true } },
    })
    expect(await call(bench, { tool: 'hostile/error' })).toMatchObject({
      status: 200,
      body: { outcome: 'allow', rpc_error: { code: expect.any(Number), message: expect.any(String) } },
    })
  })

  it('that is refused says by whom, and is recorded as refused', async () => {
    const bench = await openAdminTestGateway()
    const { status, body } = await call(bench, { tool: 'hostile/die' })
    expect(status).toBe(403)
    expect(body).toMatchObject({ outcome: 'deny', decidedBy: { step: 'select' }, error: { code: 'CALL_DENIED' } })
    expect(await bench.gateway.store.find({ callId: body.call_id })).toMatchObject([{ type: 'POLICY_DENIED' }])
  })

  it('that the server does not live through is answered with the status of that failure', async () => {
    const bench = await openAdminTestGateway()
    const { status, body } = await call(bench, { tool: 'hostile/kill-self' })
    expect(status).toBe(502)
    expect(body).toMatchObject({ outcome: 'allow', error: { code: 'UPSTREAM_DIED' } })
  })

  it('is made in the name of an agent when the operator says so', async () => {
    const bench = await openAdminTestGateway()
    const { body } = await call(bench, { tool: 'echo', as: { agent: 'codex', profile: 'reviewer' } })
    expect((await bench.gateway.store.find({ callId: body.call_id }))[0]).toMatchObject({
      agent: 'codex',
      profile: 'reviewer',
    })
  })
})

describe('a call in the name of somebody', () => {
  it.each([
    { agent: 'co\ndex' },
    { agent: ' ' },
    { agent: '' },
    { agent: 'x'.repeat(257) },
    { agent: 'codex', profile: '\u202eevil' },
  ])('is refused as %j, and not recorded', async (as) => {
    const bench = await openAdminTestGateway()
    const { status, body } = await call(bench, { tool: 'echo', as })
    expect({ status, code: body.error.code }).toEqual({ status: 400, code: 'INVALID_PARAMS' })
    expect(await callsIn(bench)).toEqual([])
  })
})

describe('a dry run', () => {
  it('decides, and neither calls nor records', async () => {
    const bench = await openAdminTestGateway()
    await bench.api('/api/tools')
    const allowed = await call(bench, { tool: 'hostile/kill-self', dryRun: true })
    expect(allowed).toMatchObject({ status: 200, body: { outcome: 'allow' } })
    expect(allowed.body.result).toBeUndefined()
    const denied = await call(bench, { tool: 'hostile/die', dryRun: true })
    expect(denied).toMatchObject({ status: 200, body: { outcome: 'deny', decidedBy: { step: 'select' } } })
    expect(await callsIn(bench)).toEqual([])
    expect(bench.gateway.fleet.get('hostile')?.status().state).toBe('ready')
  })
})

it('a client that goes away takes its call with it', async () => {
  const bench = await openAdminTestGateway()
  // A call that comes before the server is up may be refused, and is then never started.
  await eventually(
    () => bench.api('/api/call', { method: 'POST', body: { tool: 'hostile/echo' } }),
    ({ status }) => status === 200,
  )
  const heard = (type: string): Promise<LoggedEvent> =>
    new Promise((resolve) => {
      const stop = bench.gateway.store.log.watch((event) => {
        if (event.type !== type) return
        stop()
        resolve(event)
      })
    })
  const [started, failed] = [heard('TOOL_CALL_STARTED'), heard('TOOL_CALL_FAILED')]
  const headers = { authorization: `Bearer ${bench.operatorToken}`, 'content-type': 'application/json' }
  const asked = request(`${bench.url}/api/call`, { method: 'POST', headers, agent: false })
  asked.on('error', () => {})
  asked.end(JSON.stringify({ tool: 'hostile/hang' }))
  await started
  asked.destroy()
  expect(await failed).toMatchObject({ error: 'CALL_CANCELLED', tool_name: 'mcp__hostile__hang' })
  await vi.waitFor(() => expect(bench.gateway.gauge.inFlight).toBe(0))
})
