import type { IncomingHttpHeaders } from 'node:http'
import { isJsonObject, type JsonObject, parseTraceId } from '@sallyport/core'

/** The headers of the HTTP request that carried a message. */
export interface Carrier {
  readonly headers: IncomingHttpHeaders
  readonly rawHeaders: readonly string[]
}

/** The W3C trace context of the transport, without the parts that the message itself has. */
export function readTraceContext(carrier: Carrier | undefined, params: JsonObject): JsonObject | undefined {
  if (carrier === undefined) return undefined
  const { traceparent, tracestate, baggage } = carrier.headers
  if (traceparent === undefined && baggage === undefined) return undefined
  const meta = isJsonObject(params._meta) ? params._meta : {}
  // `tracestate` belongs to its `traceparent`: values of different sources are not mixed.
  const usesParent = meta.traceparent === undefined && parseTraceId(traceparent) !== undefined
  return {
    ...(usesParent && { traceparent: String(traceparent) }),
    ...(usesParent && tracestate !== undefined && { tracestate: String(tracestate) }),
    ...(baggage !== undefined && meta.baggage === undefined && { baggage: String(baggage) }),
  }
}
