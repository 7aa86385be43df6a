import { randomUUID } from 'node:crypto'
import { isJsonObject, type JsonObject } from '@sallyport/core'
import type { Question, QuestionAnswer } from '../upstream/upstream.ts'

/** Sends a message to the client; false when there is no way to it. */
export type SendToClient = (message: JsonObject) => boolean

/** A person may have to be found before anybody answers. */
const ANSWER_TIMEOUT_MS = 600_000

/** The questions of servers that one legacy client has not answered yet. */
export class ClientQuestions {
  readonly #open = new Map<string, (answer: QuestionAnswer) => void>()

  ask({ method, params, cancellation }: Question, send: SendToClient): Promise<QuestionAnswer> {
    if (cancellation.reason !== undefined) return Promise.resolve(withdrawnAnswer(cancellation.reason))
    // Never used before by this client, not even in a conversation that it began anew.
    const id = randomUUID()
    if (!send({ id, method, params: withoutProgressToken(params) }))
      return Promise.resolve(failedAnswer('The client keeps no stream open on which it could be asked.'))
    return new Promise((resolve) => {
      const close = (answer: QuestionAnswer): void => {
        clearTimeout(timer)
        cancellation.onCancel(undefined)
        this.#open.delete(id)
        resolve(answer)
      }
      const takeBack = (reason: string): void => {
        send({ method: 'notifications/cancelled', params: { requestId: id, reason } })
        close(withdrawnAnswer(reason))
      }
      const timer = setTimeout(() => takeBack('it was not answered in time'), ANSWER_TIMEOUT_MS)
      this.#open.set(id, close)
      cancellation.onCancel(takeBack)
    })
  }

  /** An answer to no open question changes nothing. */
  receiveAnswer(id: string | number, { result, error }: JsonObject): void {
    const close = typeof id === 'string' ? this.#open.get(id) : undefined
    close?.(isJsonObject(error) ? { error } : { result: result ?? {} })
  }

  close(reason: string): void {
    for (const close of [...this.#open.values()]) close(failedAnswer(`The client cannot answer: ${reason}.`))
  }
}

/** Its token belongs to the server; ours would mean nothing to it. */
function withoutProgressToken(params: JsonObject): JsonObject {
  if (!isJsonObject(params._meta) || params._meta.progressToken === undefined) return params
  const { progressToken: _token, ..._meta } = params._meta
  return { ...params, _meta }
}

const withdrawnAnswer = (reason: string): QuestionAnswer => failedAnswer(`Nobody waits for the answer: ${reason}.`)

const failedAnswer = (message: string): QuestionAnswer => ({ error: { code: -32603, message } })
