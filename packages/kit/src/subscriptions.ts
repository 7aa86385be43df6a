import { isJsonObject, type JsonObject, META } from '@sallyport/core'
import type { Definitions, ListKind } from './definitions.ts'
import { INVALID_PARAMS, notification, type RequestId, type RpcError, refuse } from './json-rpc.ts'

const FILTERS: Readonly<Record<ListKind, string>> = {
  tools: 'toolsListChanged',
  resources: 'resourcesListChanged',
  prompts: 'promptsListChanged',
}

const KINDS = Object.keys(FILTERS) as readonly ListKind[]

/** The open `subscriptions/listen` requests of one connection: how the modern era learns of changes. */
export class Subscriptions {
  readonly #definitions: Definitions
  readonly #send: (message: object) => void
  readonly #kindsOf = new Map<RequestId, readonly ListKind[]>()

  constructor(definitions: Definitions, send: (message: object) => void) {
    this.#definitions = definitions
    this.#send = send
  }

  has(id: RequestId): boolean {
    return this.#kindsOf.has(id)
  }

  /** Acknowledges what can be honoured, before anything else is sent under this id; or says what is wrong. */
  listen(id: RequestId, params: JsonObject): { readonly error: RpcError } | undefined {
    const wanted = params.notifications
    if (!isJsonObject(wanted)) return refuse(INVALID_PARAMS, 'params.notifications is missing; expected an object.')
    const kinds = KINDS.filter((kind) => wanted[FILTERS[kind]] === true && this.#definitions.offers(kind))
    this.#kindsOf.set(id, kinds)
    const notifications = Object.fromEntries(kinds.map((kind) => [FILTERS[kind], true]))
    this.#notify(id, 'notifications/subscriptions/acknowledged', { notifications })
    return undefined
  }

  listChanged(kind: ListKind): void {
    for (const [id, kinds] of this.#kindsOf) {
      if (kinds.includes(kind)) this.#notify(id, `notifications/${kind}/list_changed`, {})
    }
  }

  /** The peer does not wait for an answer to what it cancelled. */
  cancel(id: RequestId): void {
    this.#kindsOf.delete(id)
  }

  /** The graceful end: every listen request gets its result. */
  end(): void {
    for (const id of this.#kindsOf.keys()) {
      const result = { resultType: 'complete', _meta: { [META.subscriptionId]: id } }
      this.#send({ jsonrpc: '2.0', id, result })
    }
    this.#kindsOf.clear()
  }

  #notify(id: RequestId, method: string, params: JsonObject): void {
    this.#send(notification(method, { _meta: { [META.subscriptionId]: id }, ...params }))
  }
}
