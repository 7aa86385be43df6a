import { isJsonObject, type Json, type JsonObject } from '@sallyport/core'
import { parseFrame } from '../answers/parse-frame.ts'
import type { Client, Question } from '../client.ts'
import type { Frame } from '../transport.ts'

/** Pages that are never reported as done are forgotten, the oldest first. */
const MAX_ELICITATIONS = 1_000
const MAX_ERROR_BYTES = 65_536
const URL_ELICITATION_REQUIRED = -32042

/** Which client was sent to which page: only that client is notified when the server reports the page as done. */
export class UrlElicitations {
  readonly #clients = new Map<string, Client>()

  addFromQuestion({ method, params }: Pick<Question, 'method' | 'params'>, client: Client): void {
    if (method === 'elicitation/create' && params.mode === 'url') this.#add(params.elicitationId, client)
  }

  /** An error may name pages that must be visited first. */
  addFromError(frame: Frame, client: Client): void {
    if (frame.envelope.bytes > MAX_ERROR_BYTES) return
    for (const page of findUrlElicitations(parseFrame(frame).error) ?? []) this.#add(page.elicitationId, client)
  }

  /** The client to notify that a page is done. */
  complete({ params }: JsonObject): Client | undefined {
    const id = isJsonObject(params) ? params.elicitationId : undefined
    const client = typeof id === 'string' ? this.#clients.get(id) : undefined
    if (client) this.#clients.delete(String(id))
    return client?.era === 'legacy' ? client : undefined
  }

  #add(id: Json | undefined, client: Client): void {
    if (typeof id !== 'string') return
    // A call is over long before its page is done.
    this.#clients.set(id, client.standing ?? client)
    if (this.#clients.size <= MAX_ELICITATIONS) return
    const [oldest] = this.#clients.keys()
    if (oldest !== undefined) this.#clients.delete(oldest)
  }
}

/** The pages that must be visited according to an error of a server; `undefined` for any other error. */
export function findUrlElicitations(error: Json | undefined): readonly JsonObject[] | undefined {
  if (!isJsonObject(error) || error.code !== URL_ELICITATION_REQUIRED) return undefined
  const elicitations = isJsonObject(error.data) ? error.data.elicitations : undefined
  return Array.isArray(elicitations) ? elicitations.map((page: Json) => (isJsonObject(page) ? page : {})) : []
}
