import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { findValue, readExposition } from './exposition.test-kit.ts'
import { GatewayMetrics, type GatewayStats, MAX_TOOLS } from './gateway-metrics.ts'
import { observedCall, observeWholeCall } from './telemetry.test-kit.ts'

const IDLE: GatewayStats = { callsInFlight: 0, sessions: 0, upstreams: [] }

function openMetrics(): GatewayMetrics {
  const metrics = new GatewayMetrics('1.2.3')
  onTestFinished(() => metrics.close())
  return metrics
}

const approval = {
  ...{ approval: 'q1', call_id: 'c1', trace_id: 't1', user: 'ann', agent: 'codex', profile: 'reviewer', session: 's1' },
  ...{ server: 'files', method: 'tools/call', tool_name: 'mcp__files__rm', is_mcp: true },
}

const read = (metrics: GatewayMetrics, stats: GatewayStats = IDLE) =>
  readExposition(metrics.expose(stats, undefined).text)

describe('the metrics of calls', () => {
  it('count each call by its server, tool, verdict and outcome', () => {
    const metrics = openMetrics()
    observeWholeCall(metrics.calls, observedCall('read'))
    observeWholeCall(metrics.calls, observedCall('read'))
    observeWholeCall(metrics.calls, observedCall('read'), { outcome: 'tool_error' })
    observeWholeCall(metrics.calls, observedCall('write'), { outcome: 'failed', code: 'UPSTREAM_TIMEOUT' })
    const families = read(metrics)
    const of = (labels: Record<string, string>) => findValue(families, 'sallyport_calls_total', labels)
    expect(of({ tool: 'mcp__files__read', outcome: 'success' })).toBe(2)
    expect(of({ tool: 'mcp__files__read', outcome: 'tool_error', verdict: 'allow', method: 'tools/call' })).toBe(1)
    expect(of({ tool: 'mcp__files__write', outcome: 'failed', server: 'files' })).toBe(1)
    expect(findValue(families, 'sallyport_call_failures_total', { code: 'UPSTREAM_TIMEOUT' })).toBe(1)
    for (const name of ['sallyport_call_duration_seconds', 'sallyport_upstream_duration_seconds'])
      expect(findValue(families, `${name}_count`, { server: 'files' })).toBe(4)
    expect(findValue(families, 'sallyport_decision_duration_seconds_count')).toBe(4)
  })

  it('distinguish a refusal, by the decision or by a person, from a failure', () => {
    const metrics = openMetrics()
    const call = observedCall('rm')
    const refused = metrics.calls.begin(call)
    refused.decided({ outcome: 'deny', verdicts: [] }, call)
    refused.ended({ outcome: 'failed', code: 'MODE_FORBIDS' })
    const asked = metrics.calls.begin(call)
    asked.decided({ outcome: 'ask', verdicts: [] }, call)
    asked.ended({ outcome: 'failed', code: 'APPROVAL_DENIED' })
    const families = read(metrics)
    expect(findValue(families, 'sallyport_denials_total', { code: 'MODE_FORBIDS' })).toBe(1)
    expect(findValue(families, 'sallyport_denials_total', { code: 'APPROVAL_DENIED' })).toBe(1)
    expect(findValue(families, 'sallyport_calls_total', { verdict: 'ask', outcome: 'denied' })).toBe(1)
    expect(families.has('sallyport_call_failures_total')).toBe(false)
    expect(families.has('sallyport_call_duration_seconds')).toBe(false)
  })

  it('are about the call that is meant, with the strictest decision', () => {
    const metrics = openMetrics()
    const watch = metrics.calls.begin(observedCall('mcp-exec'))
    const meant = observedCall('inner')
    watch.decided({ outcome: 'allow', verdicts: [] }, meant)
    watch.decided({ outcome: 'deny', verdicts: [] }, meant)
    watch.ended({ outcome: 'failed', code: 'MODE_FORBIDS' })
    const families = read(metrics)
    const labels = { tool: 'mcp__files__inner', verdict: 'deny', outcome: 'denied' }
    expect(findValue(families, 'sallyport_calls_total', labels)).toBe(1)
    expect(findValue(families, 'sallyport_decision_duration_seconds_count')).toBe(1)
  })

  it('have a limited number of tools, however many there are', () => {
    const metrics = openMetrics()
    for (let tool = 0; tool < MAX_TOOLS + 100; tool++) observeWholeCall(metrics.calls, observedCall(`t${tool}`))
    const families = read(metrics)
    expect(families.get('sallyport_calls_total')?.samples).toHaveLength(MAX_TOOLS + 1)
    expect(findValue(families, 'sallyport_calls_total', { tool: 'other' })).toBe(100)
    expect(findValue(families, 'sallyport_calls_total', { tool: 'mcp__files__t0' })).toBe(1)
  })

  it('have a limited number of servers', () => {
    const metrics = openMetrics()
    for (let server = 0; server < 300; server++) observeWholeCall(metrics.calls, observedCall('t', `s${server}`))
    const samples = read(metrics).get('sallyport_call_duration_seconds')?.samples ?? []
    expect(new Set(samples.map(({ labels }) => labels.server)).size).toBe(201)
  })

  it('never name a resource: its URI is as sensitive as an argument', () => {
    const metrics = openMetrics()
    const uri = 'postgres://user:password@db/people'
    const offer = { kind: 'resource' as const, server: 'db', name: uri, wire: uri, recordName: uri }
    observeWholeCall(metrics.calls, observedCall('', 'db', { method: 'resources/read', offer }))
    const { text } = metrics.expose(IDLE, undefined)
    expect(text).not.toContain('password')
    expect(findValue(readExposition(text), 'sallyport_calls_total', { method: 'resources/read', tool: '' })).toBe(1)
  })

  it('can be parsed in both formats, whatever names servers give their tools', () => {
    const nasty = fc.constantFrom('"', '\\', '\n', '\r', '\u2028', '\ud800', '\u0000', '}', ' 1\n# EOF\n', 'é', '😀')
    const name = fc
      .array(fc.oneof(nasty, fc.string({ unit: 'binary' })), { maxLength: 40 })
      .map((parts) => parts.join(''))
    fc.assert(
      fc.property(fc.array(name, { maxLength: 8 }), (names) => {
        const metrics = new GatewayMetrics('1')
        for (const tool of names) observeWholeCall(metrics.calls, observedCall(tool))
        const plain = Buffer.from(metrics.expose(IDLE, undefined).text).toString()
        const open = Buffer.from(metrics.expose(IDLE, 'application/openmetrics-text').text).toString()
        metrics.close()
        const samples = readExposition(plain).get('sallyport_calls_total')?.samples ?? []
        expect(samples.reduce((sum, { value }) => sum + value, 0)).toBe(names.length)
        readExposition(open, 'open')
      }),
      { numRuns: 50 },
    )
  })

  it('count two names that are printed alike as one', () => {
    const metrics = openMetrics()
    for (const end of ['a', 'b']) observeWholeCall(metrics.calls, observedCall(`${'x'.repeat(500)}${end}`))
    expect(read(metrics).get('sallyport_calls_total')?.samples).toMatchObject([{ value: 2 }])
  })
})

describe('the other metrics', () => {
  it('are read at the scrape, and omitted if unknown', () => {
    const metrics = openMetrics()
    const upstreams = [
      { id: 'files', isUp: true },
      { id: 'web', isUp: false },
    ]
    const bare = read(metrics, { callsInFlight: 3, sessions: 2, upstreams })
    expect(findValue(bare, 'sallyport_calls_in_flight')).toBe(3)
    expect(findValue(bare, 'sallyport_sessions')).toBe(2)
    expect(findValue(bare, 'sallyport_upstream_up', { server: 'files' })).toBe(1)
    expect(findValue(bare, 'sallyport_upstream_up', { server: 'web' })).toBe(0)
    for (const absent of ['sallyport_mode', 'sallyport_approvals_pending', 'sallyport_audit_write_failures_total'])
      expect(bare.has(absent), absent).toBe(false)
    const whole = read(metrics, { ...IDLE, mode: 'ALERT', approvalsPending: 4, auditFailures: 5 })
    expect(findValue(whole, 'sallyport_mode', { mode: 'ALERT' })).toBe(1)
    expect(findValue(whole, 'sallyport_mode', { mode: 'NORMAL' })).toBe(0)
    expect(findValue(whole, 'sallyport_approvals_pending')).toBe(4)
    expect(findValue(whole, 'sallyport_audit_write_failures_total')).toBe(5)
  })

  it('count restarts and answers as they happen', () => {
    const metrics = openMetrics()
    metrics.recordEvent({ type: 'UPSTREAM_RESTARTED', server: 'files', attempt: 1, took_ms: 5 })
    metrics.recordEvent({ type: 'UPSTREAM_LOST', server: 'files', reason: 'it died' })
    metrics.recordEvent({ ...approval, type: 'APPROVAL_ANSWERED', answer: 'once', by: 'ann', via: 'cli' })
    metrics.recordEvent({ ...approval, type: 'APPROVAL_EXPIRED', reason: 'nobody came' })
    const families = read(metrics)
    expect(findValue(families, 'sallyport_upstream_restarts_total', { server: 'files' })).toBe(1)
    expect(findValue(families, 'sallyport_approvals_total', { answer: 'once' })).toBe(1)
    expect(findValue(families, 'sallyport_approvals_total', { answer: 'expired' })).toBe(1)
  })

  it('include memory and CPU time of the process', () => {
    const families = read(openMetrics())
    expect(findValue(families, 'process_resident_memory_bytes')).toBeGreaterThan(10_000_000)
    expect(findValue(families, 'process_cpu_seconds_total')).toBeGreaterThan(0)
    expect(findValue(families, 'process_start_time_seconds')).toBeLessThan(Date.now() / 1_000)
    expect(findValue(families, 'process_start_time_seconds')).toBeGreaterThan(Date.now() / 1_000 - 86_400)
    expect(findValue(families, 'sallyport_build_info', { version: '1.2.3', node: process.version })).toBe(1)
  })

  it('measure the event loop from the first scrape on', async () => {
    const metrics = openMetrics()
    const lag = 'nodejs_eventloop_lag_max_seconds'
    expect(read(metrics).has(lag)).toBe(false)
    const until = performance.now() + 150
    // Blocks the loop, so that there is a lag to measure.
    await new Promise((resolve) => setImmediate(resolve))
    while (performance.now() < until);
    while (!read(metrics).has(lag)) await new Promise((resolve) => setTimeout(resolve, 10))
    expect(findValue(read(openMetrics()), 'nodejs_eventloop_busy_seconds_total')).toBeGreaterThan(0)
  })
})

describe('the format', () => {
  it.each([
    [undefined, 'text/plain; version=0.0.4; charset=utf-8'],
    ['*/*', 'text/plain; version=0.0.4; charset=utf-8'],
    ['text/plain, application/openmetrics-text;q=0.5', 'text/plain; version=0.0.4; charset=utf-8'],
    ['application/openmetrics-text;q=nonsense', 'text/plain; version=0.0.4; charset=utf-8'],
    [
      'application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.2,*/*;q=0.1',
      'application/openmetrics-text; version=1.0.0; charset=utf-8',
    ],
  ])('is what the client prefers: %s', (accept, type) => {
    const exposition = openMetrics().expose(IDLE, accept)
    expect(exposition.type).toBe(type)
    readExposition(exposition.text, type.startsWith('text') ? 'plain' : 'open')
  })
})
