import { isJsonObject, type JsonObject } from '@sallyport/core'
import { type Incoming, notification, type RequestId, request } from '../json-rpc.ts'
import { ToolRetryError } from '../tool-error.ts'
import type { Question } from './question.ts'

interface Waiting {
  readonly resolve: (result: JsonObject) => void
  readonly reject: (error: unknown) => void
}

/** False when the message cannot arrive. */
type Deliver = (message: object, during: RequestId) => boolean

/** What a connection has asked its client and has no answer to yet: how the legacy era asks. */
export class OutgoingRequests {
  readonly #deliver: Deliver
  readonly #waiting = new Map<RequestId, Waiting>()
  #last = 0

  constructor(deliver: Deliver) {
    this.#deliver = deliver
  }

  ask({ method, params }: Question, during: RequestId, signal: AbortSignal): Promise<JsonObject> {
    const id = ++this.#last
    return new Promise<JsonObject>((resolve, reject) => {
      const giveUp = (): void => {
        if (!this.#waiting.delete(id)) return
        this.#deliver(notification('notifications/cancelled', { requestId: id }), during)
        reject(signal.reason)
      }
      const settle = (work: () => void): void => {
        signal.removeEventListener('abort', giveUp)
        work()
      }
      this.#waiting.set(id, {
        resolve: (result) => settle(() => resolve(result)),
        reject: (error) => settle(() => reject(error)),
      })
      signal.addEventListener('abort', giveUp, { once: true })
      if (this.#deliver(request(id, method, params), during)) return
      this.#settle(id, undefined, 'The client has left no way open on which it could be asked.')
    })
  }

  /** An answer to nothing that was asked is ignored. */
  answered({ id, result }: Incoming<'response'>): void {
    if (id === null) return
    this.#settle(id, result, 'The client did not answer a question, but refused it.')
  }

  /** Nobody will answer any more. */
  close(): void {
    for (const id of [...this.#waiting.keys()]) this.#settle(id, undefined, 'The client is gone.')
  }

  #settle(id: RequestId, result: unknown, otherwise: string): void {
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    if (isJsonObject(result)) waiting?.resolve(result)
    else waiting?.reject(new ToolRetryError(otherwise))
  }
}
