import { isJsonObject, type Json, type JsonObject } from '@sallyport/core'
import { parseFrame } from '../answers/parse-frame.ts'
import type { Client, Question } from '../client.ts'
import type { Frame } from '../transport.ts'

/** Pages that nobody says are done are forgotten, the oldest first. */
const MAX_ELICITATIONS = 1_000
const MAX_ERROR_BYTES = 65_536
const URL_ELICITATION_REQUIRED = -32042

/** Which client was sent to which page: it alone is told when the server says that the page is done. */
export class UrlElicitations {
  readonly #clients = new Map<string, Client>()

  addFromQuestion({ method, params }: Pick<Question, 'method' | 'params'>, client: Client): void {
    if (method === 'elicitation/create' && params.mode === 'url') this.#add(params.elicitationId, client)
  }

  /** An error may name pages that have to be visited first. */
  addFromError(frame: Frame, client: Client): void {
    if (frame.envelope.bytes > MAX_ERROR_BYTES) return
    for (const page of findUrlElicitations(parseFrame(frame).error) ?? []) this.#add(page.elicitationId, client)
  }

  /** Whom to tell that a page is done. */
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

/** The pages that an error of a server wants to be visited; undefined where it is another error. */
export function findUrlElicitations(error: Json | undefined): readonly JsonObject[] | undefined {
  if (!isJsonObject(error) || error.code !== URL_ELICITATION_REQUIRED) return undefined
  const elicitations = isJsonObject(error.data) ? error.data.elicitations : undefined
  return Array.isArray(elicitations) ? elicitations.map((page: Json) => (isJsonObject(page) ? page : {})) : []
}
