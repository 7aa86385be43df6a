import {
  type Attributes,
  type Context,
  createTraceState,
  type Histogram,
  type Meter,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  type TraceState,
  trace,
} from '@opentelemetry/api'
import { JsonMetricsSerializer, JsonTraceSerializer } from '@opentelemetry/otlp-transformer'
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import { MeterProvider, PeriodicExportingMetricReader, type PushMetricExporter } from '@opentelemetry/sdk-metrics'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  RandomIdGenerator,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import {
  type Decision,
  ERRORS,
  isJsonObject,
  type Json,
  type JsonObject,
  MODERN_VERSION,
  parseTraceId,
} from '@sallyport/core'
import type { CallEnd, CallObserver, CallWatch, ObservedCall, ObservedServer, TokenSavings } from './call-observer.ts'
import { cleanLabel } from './gateway-metrics.ts'
import { OtlpSender } from './otlp-sender.ts'
import type { OtlpTarget } from './otlp-target.ts'

export interface OtlpOptions {
  readonly target: OtlpTarget
  readonly version: string
  readonly onWarning: (text: string) => void
}

/** A running OpenTelemetry exporter. */
export interface Otlp {
  readonly calls: CallObserver
  /** Sends what is left, but waits only a short time for a collector that does not answer. */
  close(): Promise<void>
}

const SHUTDOWN_TIMEOUT_MS = 1_000

/** The values of `ExportResultCode`, which is in a package that is not needed otherwise. */
const EXPORT_SUCCESS = { code: 0 } as const
const EXPORT_FAILED_CODE = 1

/** Registers nothing globally: a program that embeds the gateway may have its own OpenTelemetry. */
export function openOtlp({ target, version, onWarning }: OtlpOptions): Otlp {
  const sender = new OtlpSender({ headers: target.headers, timeout: target.timeout, onWarning })
  const resource = createResource(version)
  const ids = new RandomIdGenerator()
  let recorded: string | undefined
  const traces = new TracerProvider({
    resource,
    sampler: createSampler(target.sampler),
    spanProcessors: target.traces ? [createSpanProcessor(createSpanExporter(target.traces, sender), target)] : [],
    idGenerator: {
      generateTraceId: () => recorded ?? ids.generateTraceId(),
      generateSpanId: () => ids.generateSpanId(),
    },
  })
  const readers = target.metrics ? [createMetricReader(createMetricExporter(target.metrics, sender), target)] : []
  const metrics = new MeterProvider({ resource, readers })
  const calls = new CallSpans({
    tracer: traces.getTracer('sallyport', version),
    meter: metrics.getMeter('sallyport', version),
    useTraceId: (traceId) => {
      recorded = traceId
    },
  })
  return {
    calls,
    close: async () => {
      sender.stopRetrying()
      await withTimeout(Promise.allSettled([traces.shutdown(), metrics.shutdown()]))
      sender.close()
    },
  }
}

/** The variables of OpenTelemetry take precedence over our own attributes. */
function createResource(version: string) {
  const ours = resourceFromAttributes({ 'service.name': 'sallyport', 'service.version': version })
  return defaultResource()
    .merge(ours)
    .merge(detectResources({ detectors: [envDetector] }))
}

function createSpanProcessor(exporter: SpanExporter, { traceDelay, timeout }: OtlpTarget): BatchSpanProcessor {
  return new BatchSpanProcessor({ exporter, scheduledDelayMillis: traceDelay, exportTimeoutMillis: timeout })
}

function createMetricReader(
  exporter: PushMetricExporter,
  { metricInterval, timeout }: OtlpTarget,
): PeriodicExportingMetricReader {
  const exportTimeoutMillis = Math.min(metricInterval, timeout)
  return new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: metricInterval, exportTimeoutMillis })
}

function createSpanExporter(url: URL, sender: OtlpSender): SpanExporter {
  return {
    export: (spans, done) => send({ url, sender, body: JsonTraceSerializer.serializeRequest(spans) }, done),
    shutdown: async () => {},
  }
}

function createMetricExporter(url: URL, sender: OtlpSender): PushMetricExporter {
  return {
    export: (metrics, done) => send({ url, sender, body: JsonMetricsSerializer.serializeRequest(metrics) }, done),
    forceFlush: async () => {},
    shutdown: async () => {},
  }
}

interface ExportRequest {
  readonly url: URL
  readonly sender: OtlpSender
  readonly body: Uint8Array | undefined
}

type ExportCallback = Parameters<SpanExporter['export']>[1]

function send({ url, sender, body }: ExportRequest, done: ExportCallback): void {
  if (body === undefined) return done(EXPORT_SUCCESS)
  sender.post(url, body).then(
    () => done(EXPORT_SUCCESS),
    (error: unknown) =>
      done({ code: EXPORT_FAILED_CODE, error: error instanceof Error ? error : new Error(String(error)) }),
  )
}

function withTimeout(work: Promise<unknown>): Promise<unknown> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, SHUTDOWN_TIMEOUT_MS)
  })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}

const PARENT_BASED = 'parentbased_'

/** Uses the names of the specification. An unknown name counts as not set. */
export function createSampler({ name, ratio }: OtlpTarget['sampler']): Sampler {
  if (name === 'always_on' || name === 'always_off' || name === 'traceidratio') return rootSampler(name, ratio)
  const root = name.startsWith(PARENT_BASED) ? name.slice(PARENT_BASED.length) : 'always_on'
  return new ParentBasedSampler({ root: rootSampler(root, ratio) })
}

function rootSampler(name: string, ratio: number): Sampler {
  if (name === 'always_off') return new AlwaysOffSampler()
  return name === 'traceidratio' ? new TraceIdRatioBasedSampler(ratio) : new AlwaysOnSampler()
}

interface CallSpansOptions {
  readonly tracer: Tracer
  readonly meter: Meter
  /** Sets the trace id for a call without a parent, so that it equals the one in the records. */
  readonly useTraceId: (traceId: string) => void
}

/** The bucket bounds of the semantic conventions. */
const BOUNDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300]

/** Spans and durations of calls, by the semantic conventions for MCP (semantic-conventions-genai, docs/gen-ai/mcp.md). */
class CallSpans implements CallObserver {
  readonly #options: CallSpansOptions
  readonly #durations: Durations

  constructor(options: CallSpansOptions) {
    this.#options = options
    const createHistogram = (side: 'server' | 'client', description: string): Histogram => {
      const advice = { explicitBucketBoundaries: BOUNDS }
      return options.meter.createHistogram(`mcp.${side}.operation.duration`, { description, unit: 's', advice })
    }
    this.#durations = {
      server: createHistogram('server', 'Requests of clients, from arrival to answer.'),
      client: createHistogram('client', 'Requests to servers, until the answer.'),
    }
  }

  begin(call: ObservedCall): CallWatch {
    const { tracer, useTraceId } = this.#options
    const context = callerContext(call)
    useTraceId(call.traceId)
    const attributes = { ...operationAttributes(call, call.offer.wire), ...clientAttributes(call) }
    const options = { kind: SpanKind.SERVER, attributes: { ...attributes, ...identityAttributes(call) } }
    const span = tracer.startSpan(spanName(call, call.offer.wire), options, context)
    return new SpanWatch({
      call,
      tracer,
      durations: this.#durations,
      span,
      attributes,
      context: trace.setSpan(context, span),
    })
  }

  /** A call of something unknown has no span. */
  unknown(): void {}
}

interface Durations {
  readonly server: Histogram
  readonly client: Histogram
}

interface SpanWatchOptions {
  readonly call: ObservedCall
  readonly tracer: Tracer
  readonly durations: Durations
  readonly span: Span
  readonly attributes: Attributes
  readonly context: Context
}

class SpanWatch implements CallWatch {
  readonly #options: SpanWatchOptions
  readonly #begunAt = performance.now()
  #request: { readonly span: Span; readonly attributes: Attributes; readonly at: number } | undefined

  constructor(options: SpanWatchOptions) {
    this.#options = options
  }

  decided({ outcome, decisive }: Decision, { offer }: ObservedCall): void {
    const { span } = this.#options
    span.setAttribute('sallyport.verdict', outcome)
    if (offer.kind === 'tool') span.setAttribute('sallyport.tool', cleanLabel(offer.recordName))
    if (decisive) span.setAttribute('sallyport.step', decisive.step)
  }

  sent(server: ObservedServer | undefined): JsonObject {
    const { call, tracer, context } = this.#options
    const attributes = { ...operationAttributes(call, call.offer.name), ...serverAttributes(server) }
    const options = { kind: SpanKind.CLIENT, attributes: { ...attributes, 'sallyport.server': call.offer.server } }
    const span = tracer.startSpan(spanName(call, call.offer.name), options, context)
    this.#request = { span, attributes, at: performance.now() }
    return formatTraceContext(span.spanContext())
  }

  answered(end: CallEnd): void {
    if (this.#request === undefined) return
    const { span, attributes, at } = this.#request
    this.#request = undefined
    const error = errorAttributes(end)
    endSpan(span, error)
    this.#options.durations.client.record(secondsSince(at), { ...attributes, ...error })
  }

  returned({ tokensKept }: TokenSavings): void {
    this.#options.span.setAttribute('sallyport.tokens.kept_out', tokensKept)
  }

  ended(end: CallEnd): void {
    this.answered(end)
    const { span, attributes, durations, call } = this.#options
    const error = { ...errorAttributes(end), ...responseStatus(call, end) }
    if (end.code !== undefined) span.setAttribute('sallyport.error.code', end.code)
    if (end.bytes !== undefined) span.setAttribute('sallyport.result.bytes', end.bytes)
    endSpan(span, error)
    durations.server.record(secondsSince(this.#begunAt), { ...attributes, ...error })
  }
}

function endSpan(span: Span, error: Attributes): void {
  // Without a description: an error message may repeat arguments.
  if ('error.type' in error) span.setAttributes(error).setStatus({ code: SpanStatusCode.ERROR })
  span.end()
}

const secondsSince = (time: number): number => (performance.now() - time) / 1_000

/** A resource is not named: its URI is as sensitive as an argument. */
function spanName({ method, offer }: ObservedCall, name: string): string {
  return offer.kind === 'tool' || offer.kind === 'prompt' ? `${method} ${cleanLabel(name)}` : method
}

/** `name` is the client's name for spans towards the client, and the server's name for spans towards the server. */
function operationAttributes({ method, offer }: ObservedCall, name: string): Attributes {
  return {
    'mcp.method.name': method,
    ...(offer.kind === 'tool' && { 'gen_ai.tool.name': cleanLabel(name) }),
    ...(offer.kind === 'prompt' && { 'gen_ai.prompt.name': cleanLabel(name) }),
    ...(method === 'tools/call' && { 'gen_ai.operation.name': 'execute_tool' }),
  }
}

function clientAttributes({ carrier, client }: ObservedCall): Attributes {
  return {
    ...(carrier && { 'network.transport': carrier === 'http' ? 'tcp' : 'pipe' }),
    ...(client?.era === 'modern' && { 'mcp.protocol.version': MODERN_VERSION }),
  }
}

function serverAttributes(server: ObservedServer | undefined): Attributes {
  if (server === undefined || server.kind === 'built-in') return {}
  if (server.url === undefined || !URL.canParse(server.url)) return { 'network.transport': 'pipe' }
  const { hostname, port, protocol } = new URL(server.url)
  const known = port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port)
  return { 'network.transport': 'tcp', 'server.address': hostname, 'server.port': known }
}

/** Who calls what. Only for spans: as labels of metrics there would be too many values. */
function identityAttributes({ id, principal, offer, client }: ObservedCall): Attributes {
  const { agent, profile, session } = principal
  return {
    'sallyport.call.id': id,
    'sallyport.server': offer.server,
    'sallyport.agent': agent,
    'sallyport.profile': profile,
    'sallyport.session': session,
    ...(client?.conversation !== undefined && { 'mcp.session.id': client.conversation }),
  }
}

function errorAttributes({ outcome, code, rpcCode }: CallEnd): Attributes {
  if (outcome === 'success') return {}
  if (outcome === 'tool_error') return { 'error.type': 'tool_error' }
  if (outcome === 'failed') return { 'error.type': code ?? '_OTHER' }
  if (rpcCode === undefined) return { 'error.type': '_OTHER' }
  return { 'error.type': String(rpcCode), 'rpc.response.status_code': String(rpcCode) }
}

/** The JSON-RPC code of a failure of the gateway. For a tool call the error is in the result instead. */
function responseStatus({ method }: ObservedCall, { outcome, code }: CallEnd): Attributes {
  if (outcome !== 'failed' || code === undefined) return {}
  const { rpc, forModel } = ERRORS[code]
  return forModel && method === 'tools/call' ? {} : { 'rpc.response.status_code': String(rpc) }
}

/** The length of `tracestate` that W3C Trace Context requires to be passed on. */
const MAX_STATE_LENGTH = 512

/** The caller's remote span as the parent of ours; the root context if the caller has none. */
function callerContext({ params, trace: carried }: Pick<ObservedCall, 'params' | 'trace'>): Context {
  const meta = isJsonObject(params._meta) ? params._meta : {}
  const parent = parseSpanContext(meta) ?? (carried && parseSpanContext(carried))
  return parent ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT
}

function parseSpanContext({ traceparent, tracestate }: JsonObject): SpanContext | undefined {
  const traceId = parseTraceId(traceparent)
  if (traceId === undefined) return undefined
  const [, , spanId = '', flags = ''] = String(traceparent).split('-')
  const traceState = parseTraceState(tracestate)
  return {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16) & 1,
    isRemote: true,
    ...(traceState && { traceState }),
  }
}

function parseTraceState(tracestate: Json | undefined): TraceState | undefined {
  const isUsable = typeof tracestate === 'string' && tracestate.length <= MAX_STATE_LENGTH
  return isUsable ? createTraceState(tracestate) : undefined
}

/** The trace context for the server. `tracestate` is always set, so that an old value is not combined with the new parent. */
function formatTraceContext({ traceId, spanId, traceFlags, traceState }: SpanContext): JsonObject {
  const flags = (traceFlags & 1).toString(16).padStart(2, '0')
  const tracestate = traceState?.serialize()
  return { traceparent: `00-${traceId}-${spanId}-${flags}`, tracestate: tracestate || undefined } as JsonObject
}
