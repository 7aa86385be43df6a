import type { Decision, Era, ErrorCode, JsonObject, Principal } from '@sallyport/core'

/** Of a call, what those who watch may know: nothing of its arguments but the trace that it belongs to. */
export interface ObservedCall {
  readonly id: string
  readonly traceId: string
  readonly principal: Principal
  readonly method: string
  readonly offer: {
    readonly kind: 'tool' | 'prompt' | 'resource' | 'template' | 'instructions' | 'question'
    readonly server: string
    readonly name: string
    readonly wire: string
    readonly recordName: string
  }
  readonly params: JsonObject
  readonly trace?: JsonObject | undefined
  readonly carrier?: 'http' | 'lines' | undefined
  readonly client?: { readonly era: Era; readonly conversation: string | undefined } | undefined
}

/** How a call ended, as far as it can be told without its words. */
export interface CallEnd {
  /** `tool_error`: the tool says so itself. `rpc_error`: its server refused. `failed`: there is no answer of a server. */
  readonly outcome: 'success' | 'tool_error' | 'rpc_error' | 'failed'
  /** Of a failure of ours. */
  readonly code?: ErrorCode | undefined
  /** Of the server's error. */
  readonly rpcCode?: number | undefined
  readonly bytes?: number | undefined
}

/** What of a result did not reach its caller, and what a model took to read it instead. */
export interface TokenSavings {
  readonly tokensKept: number
  readonly tokensIn: number
  readonly tokensOut: number
}

/** Where a call goes. */
export interface ObservedServer {
  readonly kind: string
  readonly url?: string
}

/** Follows one call. Every call passes here: nothing of it may throw, or wait. */
export interface CallWatch {
  /** By these rules, about the call that is meant. Told again where that does not stand: what allows least is what counts. */
  decided(decision: Decision, meant: ObservedCall): void
  /** It leaves for its server now. What that is to be told of our part in the trace, if we have one. */
  sent(server: ObservedServer | undefined): JsonObject | undefined
  answered(end: CallEnd): void
  /** Not all of the answer goes back. */
  returned(kept: TokenSavings): void
  ended(end: CallEnd): void
}

/** Whoever wants to know of every call. */
export interface CallObserver {
  begin(call: ObservedCall): CallWatch
  /** Somebody asked for what nobody offers. The name is the caller's invention, and is not told. */
  unknown(method: string): void
}

export function joinObservers(
  first: CallObserver | undefined,
  second: CallObserver | undefined,
): CallObserver | undefined {
  if (!first || !second) return first ?? second
  return {
    begin: (call) => joinWatches(first.begin(call), second.begin(call)),
    unknown(method) {
      first.unknown(method)
      second.unknown(method)
    },
  }
}

function joinWatches(first: CallWatch, second: CallWatch): CallWatch {
  return {
    decided(decision, meant) {
      first.decided(decision, meant)
      second.decided(decision, meant)
    },
    sent(server) {
      const trace = first.sent(server)
      return second.sent(server) ?? trace
    },
    answered(end) {
      first.answered(end)
      second.answered(end)
    },
    returned(kept) {
      first.returned(kept)
      second.returned(kept)
    },
    ended(end) {
      first.ended(end)
      second.ended(end)
    },
  }
}
