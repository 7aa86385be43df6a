import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { LegacyClient, modernRequest } from '../harness/mcp-client.ts'
import { type ModernUpstream, openModernUpstream } from '../harness/modern-upstream.ts'
import { type CollectedSpan, type OtlpCollector, openOtlpCollector } from '../harness/otlp-collector.ts'
import { eventually } from '../harness/processes.ts'
import { endProcess, REPOSITORY, type RunningGateway, runGateway } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'

const TRACE = 'a'.repeat(32)
const PARENT = 'b'.repeat(16)
const SECRET = 'hush-hush-4711'

const tools = ['fine', 'broken', 'hidden'].map((name) => ({ name, inputSchema: { type: 'object' } }))
const results = {
  fine: { content: [{ type: 'text', text: SECRET }] },
  broken: { isError: true, content: [{ type: 'text', text: SECRET }] },
}

/** One that sends at once what the defaults gather for seconds. */
const hasty = (endpoint: string, more: Record<string, string> = {}) => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
  OTEL_BSP_SCHEDULE_DELAY: '20',
  OTEL_METRIC_EXPORT_INTERVAL: '100',
  ...more,
})

const untilListed = (gateway: RunningGateway, ...names: readonly string[]): Promise<unknown> =>
  eventually(
    async () => JSON.stringify((await modernRequest(gateway.mcp, 'tools/list')).message),
    (list) => names.every((name) => list.includes(name)),
  )

const serverSpan = (spans: readonly CollectedSpan[]): CollectedSpan =>
  spans.find(({ kind }) => kind === 2) as CollectedSpan
const clientSpan = (spans: readonly CollectedSpan[]): CollectedSpan =>
  spans.find(({ kind }) => kind === 3) as CollectedSpan

const freshTrace = (): string => crypto.randomUUID().replaceAll('-', '')
const lastTraceOf = (gateway: RunningGateway): string =>
  String(gateway.records().findLast(({ trace_id }) => trace_id !== undefined)?.trace_id)
const parentOf = (trace: string, flags = '01'): string => `00-${trace}-${PARENT}-${flags}`

describe(`${promise('GOV-30')} calls with OpenTelemetry`, () => {
  let collector: OtlpCollector
  let modern: ModernUpstream
  let legacy: ModernUpstream
  let gateway: RunningGateway

  beforeAll(async () => {
    collector = await openOtlpCollector()
    modern = await openModernUpstream({ tools, results })
    legacy = await openModernUpstream({ tools, results, discoverStatus: () => 404 })
    gateway = await runGateway({
      config: {
        mcp_servers: {
          modern: { url: modern.url, exclude_tools: ['hidden'] },
          legacy: { url: legacy.url },
          rough: { command: process.execPath, args: [join(REPOSITORY, 'tests/fixtures/hostile-server.mjs')] },
        },
      },
      env: hasty(collector.url, {
        OTEL_SERVICE_NAME: 'the-gateway',
        OTEL_EXPORTER_OTLP_HEADERS: 'x-key=a%20key',
      }),
    })
    await untilListed(gateway, 'modern_fine', 'legacy_fine', 'rough_echo')
  })

  afterAll(async () => {
    await gateway?.stop()
    await Promise.all([collector, modern, legacy].map((one) => one?.close()))
  })

  const receivedBy = (upstream: ModernUpstream) => upstream.of('tools/call').at(-1)?.message.params._meta

  it('form one trace from the caller through the gateway to the server', async () => {
    const _meta = { traceparent: parentOf(TRACE), tracestate: 'vendor=1', baggage: 'k=v' }
    await modernRequest(gateway.mcp, 'tools/call', { name: 'modern_fine', arguments: {}, _meta })
    const spans = await collector.trace(TRACE, 2)
    expect(serverSpan(spans)).toMatchObject({ name: 'tools/call modern_fine', parentSpanId: PARENT })
    expect(clientSpan(spans)).toMatchObject({ name: 'tools/call fine', parentSpanId: serverSpan(spans).spanId })
    expect(receivedBy(modern)).toMatchObject({
      traceparent: `00-${TRACE}-${clientSpan(spans).spanId}-01`,
      tracestate: 'vendor=1',
      baggage: 'k=v',
    })
    expect(gateway.records().filter(({ trace_id }) => trace_id === TRACE)).toHaveLength(2)
  })

  it('have the attributes of the conventions, and our own for the decision', async () => {
    const trace = freshTrace()
    const client = await LegacyClient.open(gateway.mcp, { traceparent: parentOf(trace) })
    await client.call('modern_fine')
    const spans = await collector.trace(trace, 2)
    expect(serverSpan(spans).attributes).toMatchObject({
      'mcp.method.name': 'tools/call',
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'modern_fine',
      'mcp.session.id': client.session,
      'network.transport': 'tcp',
      'sallyport.server': 'modern',
      'sallyport.agent': 'any',
      'sallyport.profile': 'default',
      'sallyport.session': expect.any(String),
      'sallyport.verdict': 'allow',
    })
    expect(clientSpan(spans).attributes).toMatchObject({
      'gen_ai.tool.name': 'fine',
      'network.transport': 'tcp',
      'server.address': '127.0.0.1',
      'server.port': Number(new URL(modern.url).port),
    })
    expect(serverSpan(spans).status.code ?? 0).toBe(0)
    expect(serverSpan(spans).resource).toMatchObject({ 'service.name': 'the-gateway' })
    const [record] = gateway.records().filter(({ trace_id }) => trace_id === trace)
    expect(serverSpan(spans).attributes['sallyport.call.id']).toBe(record?.call_id)
  })

  it('pass the parent on to a legacy server too, from a header of the client', async () => {
    const trace = freshTrace()
    const client = await LegacyClient.open(gateway.mcp, { traceparent: parentOf(trace), tracestate: 'a=1' })
    await client.call('legacy_fine')
    const { spanId } = clientSpan(await collector.trace(trace, 2))
    expect(receivedBy(legacy)).toMatchObject({ traceparent: `00-${trace}-${spanId}-01`, tracestate: 'a=1' })
  })

  it('begin a trace under the id of their record if the caller has no valid one', async () => {
    for (const _meta of [{}, { traceparent: 'nonsense', tracestate: 'stale=1' }]) {
      await modernRequest(gateway.mcp, 'tools/call', { name: 'modern_fine', arguments: {}, _meta })
      const trace = lastTraceOf(gateway)
      const spans = await collector.trace(trace, 2)
      expect(serverSpan(spans).parentSpanId).toBeUndefined()
      expect(receivedBy(modern).traceparent).toBe(`00-${trace}-${clientSpan(spans).spanId}-01`)
      expect(receivedBy(modern)).not.toHaveProperty('tracestate')
    }
  })

  it('are not sampled if the caller is not, and the server gets that flag', async () => {
    const [unsampled, sampled] = [freshTrace(), freshTrace()]
    for (const traceparent of [parentOf(unsampled, '00'), parentOf(sampled)])
      await modernRequest(gateway.mcp, 'tools/call', { name: 'modern_fine', arguments: {}, _meta: { traceparent } })
    await collector.trace(sampled, 2)
    expect(collector.spans().filter(({ traceId }) => traceId === unsampled)).toEqual([])
    const [received] = modern.of('tools/call').slice(-2)
    expect(received?.message.params._meta.traceparent).toMatch(new RegExp(`^00-${unsampled}-(?!${PARENT})\\w{16}-00$`))
  })

  it.each([
    ['modern_broken', 'tool_error', {}],
    ['rough_tool_error', 'tool_error', {}],
    ['rough_error', '-32050', { 'rpc.response.status_code': '-32050' }],
    ['rough_die', 'UPSTREAM_DIED', { 'sallyport.error.code': 'UPSTREAM_DIED' }],
  ])('of %s end with the error %s, on both spans', async (name, type, more) => {
    const trace = freshTrace()
    const _meta = { traceparent: parentOf(trace) }
    await modernRequest(gateway.mcp, 'tools/call', { name, arguments: {}, _meta })
    const spans = await collector.trace(trace, 2)
    for (const span of spans) {
      expect(span.attributes['error.type']).toBe(type)
      expect(span.status).toEqual({ code: 2 })
    }
    expect(serverSpan(spans).attributes).toMatchObject(more)
  })

  it('that are refused have only one span, with the step that refused them', async () => {
    const trace = freshTrace()
    const _meta = { traceparent: parentOf(trace) }
    await modernRequest(gateway.mcp, 'tools/call', { name: 'modern_hidden', arguments: {}, _meta })
    const [span, ...more] = await collector.trace(trace, 1)
    expect(more).toEqual([])
    expect(span).toMatchObject({
      kind: 2,
      status: { code: 2 },
      attributes: { 'sallyport.verdict': 'deny', 'sallyport.step': 'select', 'error.type': 'CALL_DENIED' },
    })
  })

  it('never contain arguments or results', async () => {
    const trace = freshTrace()
    const _meta = { traceparent: parentOf(trace) }
    for (const name of ['modern_fine', 'modern_broken'])
      await modernRequest(gateway.mcp, 'tools/call', { name, arguments: { key: SECRET }, _meta })
    await collector.trace(trace, 4)
    expect(collector.bodies.join('')).not.toContain(SECRET)
  })

  it('are measured on both sides, in the buckets of the conventions', async () => {
    await modernRequest(gateway.mcp, 'tools/call', { name: 'modern_broken', arguments: {} })
    const of = (side: string, tool: string) =>
      collector
        .points()
        .findLast(
          ({ metric, attributes }) =>
            metric === `mcp.${side}.operation.duration` && attributes['gen_ai.tool.name'] === tool,
        )
    const [server, client] = await eventually(
      () => [of('server', 'modern_broken'), of('client', 'broken')],
      ([first, second]) => first !== undefined && second !== undefined,
    )
    const error = { 'mcp.method.name': 'tools/call', 'error.type': 'tool_error' }
    expect(server?.attributes).toMatchObject(error)
    expect(client?.attributes).toMatchObject({ ...error, 'server.address': '127.0.0.1' })
    expect(server?.count).toBeGreaterThan(0)
    expect(client?.attributes).not.toHaveProperty('sallyport.session')
    expect(server?.bounds).toEqual([0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300])
  })

  it('are sent as JSON, with the headers that are asked for', () => {
    for (const { path, headers } of collector.heads) {
      expect(['/v1/traces', '/v1/metrics']).toContain(path)
      expect(headers).toMatchObject({ 'content-type': 'application/json', 'x-key': 'a key' })
    }
  })
})

describe('the endpoint of the home', () => {
  it('is used instead of the variables, with its own headers', async () => {
    const [ours, other] = await Promise.all([openOtlpCollector(), openOtlpCollector()])
    const otlp = { endpoint: ours.url, headers: { authorization: 'Bearer ours' } }
    const env = hasty(other.url, { OTEL_EXPORTER_OTLP_HEADERS: 'x-key=other' })
    const gateway = await runGateway({ config: { telemetry: { otlp } }, env })
    try {
      const params = { name: 'sallyport_system_metrics_snapshot', arguments: {} }
      await modernRequest(gateway.mcp, 'tools/call', params)
      await ours.trace(lastTraceOf(gateway), 2)
      expect(ours.heads[0]?.headers.authorization).toBe('Bearer ours')
      expect(ours.heads[0]?.headers).not.toHaveProperty('x-key')
    } finally {
      await gateway.stop()
      await Promise.all([ours.close(), other.close()])
    }
    expect(other.heads).toEqual([])
  })
})

describe('a collector with problems', () => {
  const closers: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close()
  })

  async function runTowards(collector: OtlpCollector): Promise<RunningGateway> {
    const upstream = await openModernUpstream({ tools, results })
    closers.push(() => upstream.close())
    // So patient that a gateway which waited for the collector would outlive the test.
    const env = hasty(collector.url, { OTEL_EXPORTER_OTLP_TIMEOUT: '600000', OTEL_METRIC_EXPORT_INTERVAL: '600000' })
    const gateway = await runGateway({ config: { mcp_servers: { up: { url: upstream.url } } }, env })
    closers.push(() => gateway.stop())
    await untilListed(gateway, 'up_fine')
    return gateway
  }

  const call = async (gateway: RunningGateway): Promise<string> => {
    const { message } = await modernRequest(gateway.mcp, 'tools/call', { name: 'up_fine', arguments: {} })
    return message.result.content[0].text
  }

  const warnings = (gateway: RunningGateway): readonly string[] =>
    gateway
      .stderr()
      .split('\n')
      .filter((line) => line.includes('Telemetry'))

  it('that never answers delays neither calls nor the end', async () => {
    const collector = await openOtlpCollector(() => 'never')
    closers.push(() => collector.close())
    const gateway = await runTowards(collector)
    expect(await call(gateway)).toBe(SECRET)
    await eventually(
      () => collector.heads.length,
      (count) => count > 0,
    )
    expect(await call(gateway)).toBe(SECRET)
    await endProcess(gateway.child)
    expect(gateway.child.exitCode).toBe(0)
  })

  it('that is gone is reported once, and delays nothing', async () => {
    const collector = await openOtlpCollector()
    await collector.close()
    const gateway = await runTowards(collector)
    for (let round = 0; round < 5; round++) expect(await call(gateway)).toBe(SECRET)
    await endProcess(gateway.child)
    expect(gateway.child.exitCode).toBe(0)
    expect(warnings(gateway)).toHaveLength(1)
    expect(warnings(gateway)[0]).toContain(`does not reach ${collector.url}: `)
  })

  it('that refuses is reported once, and once more when it works again', async () => {
    let status = 400
    const collector = await openOtlpCollector(() => status)
    closers.push(() => collector.close())
    const gateway = await runTowards(collector)
    const seen = async (count: number): Promise<void> => {
      const before = collector.heads.length
      await call(gateway)
      await eventually(
        () => collector.heads.length,
        (now) => now > before,
      )
      await eventually(
        () => warnings(gateway).length,
        (now) => now === count,
      )
    }
    await seen(1)
    await seen(1)
    status = 200
    await seen(2)
    expect(warnings(gateway)[0]).toContain('it answered 400')
    expect(warnings(gateway)[1]).toContain(`reaches ${collector.url} again`)
  })
})
