import type { IncomingHttpHeaders } from 'node:http'
import { isJsonObject, type JsonObject, parseTraceId } from '@sallyport/core'

/** The HTTP request that a message came in, as far as its headers concern what is done with it. */
export interface Carrier {
  readonly headers: IncomingHttpHeaders
  readonly rawHeaders: readonly string[]
}

/** The W3C trace context of the transport, as far as the message itself has none. */
export function readTraceContext(carrier: Carrier | undefined, params: JsonObject): JsonObject | undefined {
  if (carrier === undefined) return undefined
  const { traceparent, tracestate, baggage } = carrier.headers
  if (traceparent === undefined && baggage === undefined) return undefined
  const meta = isJsonObject(params._meta) ? params._meta : {}
  // A state belongs to its parent: those of different sources are not mixed.
  const parent = meta.traceparent === undefined && parseTraceId(traceparent) !== undefined
  return {
    ...(parent && { traceparent: String(traceparent) }),
    ...(parent && tracestate !== undefined && { tracestate: String(tracestate) }),
    ...(baggage !== undefined && meta.baggage === undefined && { baggage: String(baggage) }),
  }
}
