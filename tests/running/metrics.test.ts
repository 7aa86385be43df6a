import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findValue, type ReadFamily, readExposition } from '../../packages/gateway/src/telemetry/exposition.test-kit.ts'
import { LegacyClient, post } from '../harness/mcp-client.ts'
import { type ModernUpstream, openModernUpstream } from '../harness/modern-upstream.ts'
import { eventually } from '../harness/processes.ts'
import { REPOSITORY, type RunningGateway, runGateway } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'

const HOSTILE = [
  'quo"ted',
  'back\\slash',
  'line\nbreak',
  'x"} 1\n# EOF\nforged_total 1',
  `long-${'x'.repeat(400)}`,
  'ünï😀',
]

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

describe(`${promise('GOV-30')} /metrics`, () => {
  let gateway: RunningGateway
  let upstream: ModernUpstream
  let agent: LegacyClient

  beforeAll(async () => {
    const tools = HOSTILE.map((name) => ({ name, inputSchema: { type: 'object' } }))
    upstream = await openModernUpstream({ tools })
    gateway = await runGateway({
      args: [],
      config: {
        mcp_servers: {
          rough: {
            command: process.execPath,
            args: [join(REPOSITORY, 'tests/fixtures/hostile-server.mjs')],
            exclude_tools: ['pid'],
          },
          nasty: { url: upstream.url },
          away: { url: 'http://127.0.0.1:9/mcp' },
        },
      },
    })
    agent = await LegacyClient.open(gateway.mcp, bearer(gateway.token('agent')))
    await known()
  })

  afterAll(async () => {
    await gateway?.stop()
    await upstream?.close()
  })

  const look = (headers: Record<string, string> = bearer(gateway.token('operator')), method = 'GET') =>
    fetch(`${gateway.url}/metrics`, { headers, method })
  const known = (): Promise<unknown> =>
    eventually(
      async () => JSON.stringify((await agent.request('tools/list')).message),
      (list) => list.includes('rough_echo') && list.includes('nasty_'),
    )
  const read = async (): Promise<ReadonlyMap<string, ReadFamily>> => readExposition(await (await look()).text())

  it('answers only the operator, over every entry point', async () => {
    const anybody = await look({})
    expect(anybody.status).toBe(401)
    expect(anybody.headers.get('www-authenticate')).toBe('Bearer')
    expect(await anybody.text()).not.toContain('sallyport_')
    expect((await look(bearer('spo_nonsense'))).status).toBe(401)
    expect((await look(bearer(gateway.token('agent')))).status).toBe(403)
    expect((await look({ cookie: 'sallyport_session=guess' })).status).toBe(401)
    expect((await look({ ...bearer(gateway.token('operator')), origin: 'http://evil.example' })).status).toBe(403)
    const answer = await look()
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
    expect(answer.headers.get('cache-control')).toBe('no-store')
  })

  it('is only read', async () => {
    expect((await look(undefined, 'POST')).status).toBe(405)
    const head = await look(undefined, 'HEAD')
    expect([head.status, await head.text()]).toEqual([200, ''])
  })

  it('speaks OpenMetrics to clients that prefer it', async () => {
    const answer = await look({ ...bearer(gateway.token('operator')), accept: 'application/openmetrics-text' })
    expect(answer.headers.get('content-type')).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8')
    const families = readExposition(await answer.text(), 'open')
    expect(findValue(families, 'sallyport_sessions')).toBe(1)
  })

  it('shows what was called, how it ended and what was refused', async () => {
    for (let round = 0; round < 3; round++) await agent.call('rough_echo')
    for (const tool of ['tool_error', 'error', 'pid', 'die', 'nonsense']) await agent.call(`rough_${tool}`)
    const metrics = await read()
    const calls = (tool: string, outcome: string) =>
      findValue(metrics, 'sallyport_calls_total', { server: 'rough', tool: `mcp__rough__${tool}`, outcome })
    expect(calls('echo', 'success')).toBe(3)
    expect(calls('tool-error', 'tool_error')).toBe(1)
    expect(calls('error', 'rpc_error')).toBe(1)
    expect(calls('pid', 'denied')).toBe(1)
    expect(calls('die', 'failed')).toBe(1)
    expect(findValue(metrics, 'sallyport_denials_total', { code: 'CALL_DENIED' })).toBe(1)
    expect(findValue(metrics, 'sallyport_call_failures_total', { server: 'rough', code: 'UPSTREAM_DIED' })).toBe(1)
    expect(findValue(metrics, 'sallyport_call_duration_seconds_count', { server: 'rough' })).toBe(6)
    expect(findValue(metrics, 'sallyport_upstream_duration_seconds_count', { server: 'rough' })).toBe(6)
    expect(findValue(metrics, 'sallyport_decision_duration_seconds_count')).toBe(7)
    expect(findValue(metrics, 'sallyport_mode', { mode: 'NORMAL' })).toBe(1)
    expect(findValue(metrics, 'sallyport_approvals_pending')).toBe(0)
    expect(findValue(metrics, 'sallyport_unknown_calls_total', { method: 'tools/call' })).toBe(1)
    expect(findValue(metrics, 'sallyport_audit_write_failures_total')).toBe(0)
  })

  it('shows which servers are up, and which came back', async () => {
    const metrics = await eventually(read, (families) => findValue(families, 'sallyport_upstream_restarts_total') === 1)
    expect(findValue(metrics, 'sallyport_upstream_restarts_total', { server: 'rough' })).toBe(1)
    expect(findValue(metrics, 'sallyport_upstream_up', { server: 'rough' })).toBe(1)
    expect(findValue(metrics, 'sallyport_upstream_up', { server: 'sallyport' })).toBe(1)
    expect(findValue(metrics, 'sallyport_upstream_up', { server: 'away' })).toBe(0)
  })

  it('shows the calls in flight', async () => {
    const sleeping = agent.call('rough_sleep', { ms: 60_000 })
    await eventually(read, (families) => findValue(families, 'sallyport_calls_in_flight') === 1)
    const id = { jsonrpc: '2.0', id: 'x', method: 'tools/call', params: { name: 'rough_die', arguments: {} } }
    await post(gateway.mcp, id, { ...bearer(gateway.token('agent')), 'mcp-session-id': agent.session })
    await sleeping
    expect(findValue(await read(), 'sallyport_calls_in_flight')).toBe(0)
  })

  it('is not broken by names of tools', async () => {
    const { message } = await agent.request('tools/list')
    const names: string[] = message.result.tools.map(({ name }: { name: string }) => name)
    const nasty = names.filter((name) => name.startsWith('nasty_'))
    expect(nasty.length).toBeGreaterThan(3)
    for (const name of nasty) await agent.call(name)
    const samples = (await read()).get('sallyport_calls_total')?.samples ?? []
    const counted = samples.filter(({ labels }) => labels.server === 'nasty')
    expect(counted.reduce((sum, { value }) => sum + value, 0)).toBe(nasty.length)
  })
})

describe('/metrics without authentication', () => {
  it('does not exist if the home switches it off, which only the operator can see', async () => {
    const gateway = await runGateway({ config: { telemetry: { prometheus: false } } })
    try {
      expect((await fetch(`${gateway.url}/metrics`)).status).toBe(401)
      const headers = bearer(gateway.token('operator'))
      expect((await fetch(`${gateway.url}/metrics`, { headers })).status).toBe(404)
    } finally {
      await gateway.stop()
    }
  })

  it('is still for the operator only', async () => {
    const gateway = await runGateway()
    try {
      expect((await fetch(`${gateway.url}/metrics`)).status).toBe(401)
      const headers = bearer(gateway.token('operator'))
      expect((await fetch(`${gateway.url}/metrics`, { headers })).status).toBe(200)
    } finally {
      await gateway.stop()
    }
  })
})
