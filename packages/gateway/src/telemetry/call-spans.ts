import {
  type Attributes,
  type Context,
  type Histogram,
  type Meter,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { type Decision, ERRORS, type JsonObject, MODERN_VERSION } from '@sallyport/core'
import type { CallEnd, CallObserver, CallWatch, ObservedCall, ObservedServer, TokenSavings } from './call-observer.ts'
import { cleanLabel } from './label-text.ts'
import { callerContext, formatTraceContext } from './trace-context.ts'

export interface CallSpansOptions {
  readonly tracer: Tracer
  readonly meter: Meter
  /** A call without a parent keeps the trace id under which it is recorded. */
  readonly useTraceId: (traceId: string) => void
}

/** The bounds that the conventions ask for. */
const BOUNDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300]

/** Spans and durations of calls, by the semantic conventions for MCP (semantic-conventions-genai, docs/gen-ai/mcp.md). */
export class CallSpans implements CallObserver {
  readonly #options: CallSpansOptions
  readonly #durations: Durations

  constructor(parts: CallSpansOptions) {
    this.#options = parts
    const histogramOf = (side: 'server' | 'client', description: string): Histogram => {
      const advice = { explicitBucketBoundaries: BOUNDS }
      return parts.meter.createHistogram(`mcp.${side}.operation.duration`, { description, unit: 's', advice })
    }
    this.#durations = {
      server: histogramOf('server', 'Requests of clients, from their arrival to the answer.'),
      client: histogramOf('client', 'Requests to servers, until their answer.'),
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

  /** What is there for nobody has no span: whoever asked knows of it. */
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

  constructor(parts: SpanWatchOptions) {
    this.#options = parts
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
  // No description: an error's message may repeat arguments.
  if ('error.type' in error) span.setAttributes(error).setStatus({ code: SpanStatusCode.ERROR })
  span.end()
}

const secondsSince = (moment: number): number => (performance.now() - moment) / 1_000

/** A resource is not named: its URI is as good as an argument. */
function spanName({ method, offer }: ObservedCall, name: string): string {
  return offer.kind === 'tool' || offer.kind === 'prompt' ? `${method} ${cleanLabel(name)}` : method
}

/** Under the client's name for it towards the client, and under the server's own towards the server. */
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

/** Who calls what, for spans alone: as labels of figures these would be too many. */
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

/** The code of JSON-RPC that a failure of ours is answered with; a tool call tells the model in its result instead. */
function responseStatus({ method }: ObservedCall, { outcome, code }: CallEnd): Attributes {
  if (outcome !== 'failed' || code === undefined) return {}
  const { rpc, forModel } = ERRORS[code]
  return forModel && method === 'tools/call' ? {} : { 'rpc.response.status_code': String(rpc) }
}
