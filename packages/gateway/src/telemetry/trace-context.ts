import {
  type Context,
  createTraceState,
  ROOT_CONTEXT,
  type SpanContext,
  type TraceState,
  trace,
} from '@opentelemetry/api'
import { isJsonObject, type Json, type JsonObject, parseTraceId } from '@sallyport/core'
import type { ObservedCall } from './call-observer.ts'

/** The longest that W3C Trace Context wants to be passed on. */
const MAX_STATE_LENGTH = 512

/** The caller's span, remote, as the parent of ours; the root where the caller has none. */
export function callerContext({ params, trace: carried }: Pick<ObservedCall, 'params' | 'trace'>): Context {
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

/** What the next one is told. A state of before that is no longer true must not stand beside a new parent. */
export function formatTraceContext({ traceId, spanId, traceFlags, traceState }: SpanContext): JsonObject {
  const flags = (traceFlags & 1).toString(16).padStart(2, '0')
  const tracestate = traceState?.serialize()
  return { traceparent: `00-${traceId}-${spanId}-${flags}`, tracestate: tracestate || undefined } as JsonObject
}
