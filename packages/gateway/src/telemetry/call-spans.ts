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
import type { CallEnd, CallObserver, CallWatch, KeptOut, ObservedCall, ObservedServer } from './call-observer.ts'
import { labelText } from './label-text.ts'
import { callerContext, traceMembers } from './trace-context.ts'

export interface SpanParts {
  readonly tracer: Tracer
  readonly meter: Meter
  /** A call without a parent keeps the trace id under which it is recorded. */
  readonly useTraceId: (traceId: string) => void
}

/** The bounds that the conventions ask for. */
const BOUNDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300]

/** Spans and durations of calls, by the semantic conventions for MCP (semantic-conventions-genai, docs/gen-ai/mcp.md). */
export class CallSpans implements CallObserver {
  readonly #parts: SpanParts
  readonly #durations: Durations

  constructor(parts: SpanParts) {
    this.#parts = parts
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
    const { tracer, useTraceId } = this.#parts
    const context = callerContext(call)
    useTraceId(call.traceId)
    const attributes = { ...operation(call, call.offer.wire), ...clientSide(call) }
    const options = { kind: SpanKind.SERVER, attributes: { ...attributes, ...identity(call) } }
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

interface WatchParts {
  readonly call: ObservedCall
  readonly tracer: Tracer
  readonly durations: Durations
  readonly span: Span
  readonly attributes: Attributes
  readonly context: Context
}

class SpanWatch implements CallWatch {
  readonly #parts: WatchParts
  readonly #begunAt = performance.now()
  #request: { readonly span: Span; readonly attributes: Attributes; readonly at: number } | undefined

  constructor(parts: WatchParts) {
    this.#parts = parts
  }

  decided({ outcome, decisive }: Decision, { offer }: ObservedCall): void {
    const { span } = this.#parts
    span.setAttribute('sallyport.verdict', outcome)
    if (offer.kind === 'tool') span.setAttribute('sallyport.tool', labelText(offer.recordName))
    if (decisive) span.setAttribute('sallyport.step', decisive.step)
  }

  sent(server: ObservedServer | undefined): JsonObject {
    const { call, tracer, context } = this.#parts
    const attributes = { ...operation(call, call.offer.name), ...serverSide(server) }
    const options = { kind: SpanKind.CLIENT, attributes: { ...attributes, 'sallyport.server': call.offer.server } }
    const span = tracer.startSpan(spanName(call, call.offer.name), options, context)
    this.#request = { span, attributes, at: performance.now() }
    return traceMembers(span.spanContext())
  }

  answered(end: CallEnd): void {
    if (this.#request === undefined) return
    const { span, attributes, at } = this.#request
    this.#request = undefined
    const error = errorAttributes(end)
    finish(span, error)
    this.#parts.durations.client.record(secondsSince(at), { ...attributes, ...error })
  }

  returned({ tokensKept }: KeptOut): void {
    this.#parts.span.setAttribute('sallyport.tokens.kept_out', tokensKept)
  }

  ended(end: CallEnd): void {
    this.answered(end)
    const { span, attributes, durations, call } = this.#parts
    const error = { ...errorAttributes(end), ...answeredWith(call, end) }
    if (end.code !== undefined) span.setAttribute('sallyport.error.code', end.code)
    if (end.bytes !== undefined) span.setAttribute('sallyport.result.bytes', end.bytes)
    finish(span, error)
    durations.server.record(secondsSince(this.#begunAt), { ...attributes, ...error })
  }
}

function finish(span: Span, error: Attributes): void {
  // No description: an error's message may repeat arguments.
  if ('error.type' in error) span.setAttributes(error).setStatus({ code: SpanStatusCode.ERROR })
  span.end()
}

const secondsSince = (moment: number): number => (performance.now() - moment) / 1_000

/** A resource is not named: its URI is as good as an argument. */
function spanName({ method, offer }: ObservedCall, name: string): string {
  return offer.kind === 'tool' || offer.kind === 'prompt' ? `${method} ${labelText(name)}` : method
}

/** Under the client's name for it towards the client, and under the server's own towards the server. */
function operation({ method, offer }: ObservedCall, name: string): Attributes {
  return {
    'mcp.method.name': method,
    ...(offer.kind === 'tool' && { 'gen_ai.tool.name': labelText(name) }),
    ...(offer.kind === 'prompt' && { 'gen_ai.prompt.name': labelText(name) }),
    ...(method === 'tools/call' && { 'gen_ai.operation.name': 'execute_tool' }),
  }
}

function clientSide({ carrier, client }: ObservedCall): Attributes {
  return {
    ...(carrier && { 'network.transport': carrier === 'http' ? 'tcp' : 'pipe' }),
    ...(client?.era === 'modern' && { 'mcp.protocol.version': MODERN_VERSION }),
  }
}

function serverSide(server: ObservedServer | undefined): Attributes {
  if (server === undefined || server.kind === 'built-in') return {}
  if (server.url === undefined || !URL.canParse(server.url)) return { 'network.transport': 'pipe' }
  const { hostname, port, protocol } = new URL(server.url)
  const known = port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port)
  return { 'network.transport': 'tcp', 'server.address': hostname, 'server.port': known }
}

/** Who calls what, for spans alone: as labels of figures these would be too many. */
function identity({ id, principal, offer, client }: ObservedCall): Attributes {
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
function answeredWith({ method }: ObservedCall, { outcome, code }: CallEnd): Attributes {
  if (outcome !== 'failed' || code === undefined) return {}
  const { rpc, forModel } = ERRORS[code]
  return forModel && method === 'tools/call' ? {} : { 'rpc.response.status_code': String(rpc) }
}
