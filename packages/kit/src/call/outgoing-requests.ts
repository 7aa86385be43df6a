import { isJsonObject, type JsonObject } from '@sallyport/core'
import { createNotification, createRequest, type Incoming, type RequestId } from '../json-rpc.ts'
import { MissingCapabilityError, ToolRetryError } from '../tool-error.ts'

interface PendingRequest {
  readonly resolve: (result: JsonObject) => void
  readonly reject: (error: unknown) => void
}

/** Returns false if the message cannot be delivered. */
type Deliver = (message: object, during: RequestId) => boolean

/** The requests to the client that wait for an answer, in the legacy era. */
export class OutgoingRequests {
  readonly #deliver: Deliver
  readonly #pending = new Map<RequestId, PendingRequest>()
  #lastId = 0

  constructor(deliver: Deliver) {
    this.#deliver = deliver
  }

  ask({ method, params }: Question, during: RequestId, signal: AbortSignal): Promise<JsonObject> {
    const id = ++this.#lastId
    return new Promise<JsonObject>((resolve, reject) => {
      const giveUp = (): void => {
        if (!this.#pending.delete(id)) return
        this.#deliver(createNotification('notifications/cancelled', { requestId: id }), during)
        reject(signal.reason)
      }
      const settle = (work: () => void): void => {
        signal.removeEventListener('abort', giveUp)
        work()
      }
      this.#pending.set(id, {
        resolve: (result) => settle(() => resolve(result)),
        reject: (error) => settle(() => reject(error)),
      })
      signal.addEventListener('abort', giveUp, { once: true })
      if (this.#deliver(createRequest(id, method, params), during)) return
      this.#settle(id, undefined, 'The client has no open stream over which it could be asked.')
    })
  }

  /** An answer to an unknown request is ignored. */
  handleResponse({ id, result }: Incoming<'response'>): void {
    if (id === null) return
    this.#settle(id, result, 'The client refused to answer a question.')
  }

  /** Rejects all pending requests: no more answers will come. */
  close(): void {
    for (const id of [...this.#pending.keys()]) this.#settle(id, undefined, 'The client is gone.')
  }

  #settle(id: RequestId, result: unknown, otherwise: string): void {
    const waiting = this.#pending.get(id)
    this.#pending.delete(id)
    if (isJsonObject(result)) waiting?.resolve(result)
    else waiting?.reject(new ToolRetryError(otherwise))
  }
}

const CAPABILITY_BY_METHOD = {
  'elicitation/create': 'elicitation',
  'sampling/createMessage': 'sampling',
  'roots/list': 'roots',
} as const

/** The capabilities that a client may declare for requests of a server. */
export type ClientCapability = (typeof CAPABILITY_BY_METHOD)[keyof typeof CAPABILITY_BY_METHOD]

/** A question that only the client can answer. */
export interface Question {
  readonly method: keyof typeof CAPABILITY_BY_METHOD
  readonly params: JsonObject
  /** Its key among the questions of a call, for clients of the modern era. */
  readonly key?: string | undefined
}

export function canAsk(what: ClientCapability, capabilities: JsonObject): boolean {
  const declared = capabilities[what]
  if (!isJsonObject(declared)) return false
  // A client that declares modes supports only those; one that declares none supports forms (2025-06-18).
  return what !== 'elicitation' || isJsonObject(declared.form) || !('url' in declared)
}

export function assertCanAsk({ method }: Question, capabilities: JsonObject): void {
  const capability = CAPABILITY_BY_METHOD[method]
  if (!canAsk(capability, capabilities)) throw new MissingCapabilityError(capability)
}
