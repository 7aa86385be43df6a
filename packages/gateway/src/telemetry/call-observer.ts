import type { Decision, Era, ErrorCode, JsonObject, Principal } from '@sallyport/core'

/** What observers may see of a call. Of `params` they may use only the trace context, never the arguments. */
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

/** How a call ended, without the text of results or errors. */
export interface CallEnd {
  /** `tool_error`: the tool reported an error. `rpc_error`: the server returned an error. `failed`: no answer from a server. */
  readonly outcome: 'success' | 'tool_error' | 'rpc_error' | 'failed'
  /** For `failed`: the gateway's error code. */
  readonly code?: ErrorCode | undefined
  /** For `rpc_error`: the server's error code. */
  readonly rpcCode?: number | undefined
  readonly bytes?: number | undefined
}

/** Tokens of a result that did not reach the caller, and tokens that a model used to read it instead. */
export interface TokenSavings {
  readonly tokensKept: number
  readonly tokensIn: number
  readonly tokensOut: number
}

/** The server that a call is sent to. */
export interface ObservedServer {
  readonly kind: string
  readonly url?: string
}

/** Follows one call. It runs for every call, so it must not throw or wait. */
export interface CallWatch {
  /** `meant` is the call that the decision is about. Called again if the decision changes; the strictest one applies. */
  decided(decision: Decision, meant: ObservedCall): void
  /** The call is sent to its server now. Returns the trace context for the server, if there is one. */
  sent(server: ObservedServer | undefined): JsonObject | undefined
  answered(end: CallEnd): void
  /** Only a part of the result goes back to the caller. */
  returned(savings: TokenSavings): void
  ended(end: CallEnd): void
}

/** Observes every call. */
export interface CallObserver {
  begin(call: ObservedCall): CallWatch
  /** A call of something that no server offers. Its name is the caller's invention, so it is not passed on. */
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
    returned(savings) {
      first.returned(savings)
      second.returned(savings)
    },
    ended(end) {
      first.ended(end)
      second.ended(end)
    },
  }
}
