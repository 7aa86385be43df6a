import { isJsonObject, type JsonObject, META } from '@sallyport/core'
import {
  type Answer,
  INVALID_PARAMS,
  METHOD_NOT_FOUND,
  notification,
  type RequestId,
  type RpcError,
  refuse,
} from '../json-rpc.ts'
import type { Change, Definitions, ListKind } from '../offers/offers.ts'

const FILTERS: Readonly<Record<ListKind, string>> = {
  tools: 'toolsListChanged',
  resources: 'resourcesListChanged',
  prompts: 'promptsListChanged',
}

const KINDS = Object.keys(FILTERS) as readonly ListKind[]
/** A client that wants to hear of more resources than this can list them anew. */
const MOST_URIS = 1_000
const LONGEST_URI = 2_048

interface Interest {
  readonly kinds: readonly ListKind[]
  readonly uris: ReadonlySet<string>
}

/** What one connection wants to hear of: by open `subscriptions/listen` requests, or as the legacy era does. */
export class Subscriptions {
  readonly #definitions: Definitions
  readonly #send: (message: object, during?: RequestId) => void
  readonly #interests = new Map<RequestId, Interest>()
  /** Legacy clients hear of changed lists unasked, and of the resources that they subscribed to. */
  #legacyUris: Set<string> | undefined
  #unwatch: (() => void) | undefined

  constructor(definitions: Definitions, send: (message: object, during?: RequestId) => void) {
    this.#definitions = definitions
    this.#send = send
  }

  has(id: RequestId): boolean {
    return this.#interests.has(id)
  }

  openLegacy(): void {
    this.#legacyUris ??= new Set()
    this.#watch()
  }

  legacyRequest(method: 'resources/subscribe' | 'resources/unsubscribe', { uri }: JsonObject): Answer {
    if (!this.#definitions.offers('resources')) return refuse(METHOD_NOT_FOUND, 'There are no resources here.')
    if (typeof uri !== 'string' || uri.length > LONGEST_URI)
      return refuse(INVALID_PARAMS, 'params.uri is missing or too long; expected the URI of a resource.')
    const uris = this.#legacyUris ?? new Set<string>()
    if (method === 'resources/unsubscribe') uris.delete(uri)
    else if (uris.size >= MOST_URIS)
      return refuse(INVALID_PARAMS, `At most ${MOST_URIS} resources can be subscribed to.`)
    else uris.add(uri)
    return { result: {} }
  }

  /** Acknowledges what can be honoured, before anything else is sent under this id; or says what is wrong. */
  listen(id: RequestId, params: JsonObject): { readonly error: RpcError } | undefined {
    const wanted = params.notifications
    if (!isJsonObject(wanted)) return refuse(INVALID_PARAMS, 'params.notifications is missing; expected an object.')
    const kinds = KINDS.filter((kind) => wanted[FILTERS[kind]] === true && this.#definitions.offers(kind))
    const asked = this.#definitions.offers('resources') ? readUris(wanted.resourceSubscriptions) : []
    if (asked === undefined)
      return refuse(INVALID_PARAMS, `resourceSubscriptions is not a list of at most ${MOST_URIS} URIs.`)
    this.#interests.set(id, { kinds, uris: new Set(asked) })
    this.#watch()
    const notifications = {
      ...Object.fromEntries(kinds.map((kind) => [FILTERS[kind], true])),
      ...(asked.length > 0 ? { resourceSubscriptions: asked } : {}),
    }
    this.#notify(id, 'notifications/subscriptions/acknowledged', { notifications })
    return undefined
  }

  /** The peer does not wait for an answer to what it cancelled. */
  cancel(id: RequestId): void {
    this.#interests.delete(id)
  }

  /** The graceful end: every listen request gets its result. */
  close(): void {
    for (const id of this.#interests.keys()) {
      const result = { resultType: 'complete', _meta: { [META.subscriptionId]: id } }
      this.#send({ jsonrpc: '2.0', id, result }, id)
    }
    this.#interests.clear()
    this.#unwatch?.()
  }

  /** Most connections of the modern era are one request that does not listen. */
  #watch(): void {
    this.#unwatch ??= this.#definitions.watch((change) => this.#changed(change))
  }

  #changed(change: Change): void {
    const [method, params] =
      'uri' in change
        ? ['notifications/resources/updated', { uri: change.uri }]
        : [`notifications/${change.kind}/list_changed`, {}]
    if (this.#legacyUris !== undefined && (!('uri' in change) || this.#legacyUris.has(change.uri)))
      this.#send('uri' in change ? notification(method, params) : notification(method))
    for (const [id, { kinds, uris }] of this.#interests)
      if ('uri' in change ? uris.has(change.uri) : kinds.includes(change.kind)) this.#notify(id, method, params)
  }

  #notify(id: RequestId, method: string, params: JsonObject): void {
    this.#send(notification(method, { _meta: { [META.subscriptionId]: id }, ...params }), id)
  }
}

function readUris(wanted: unknown): readonly string[] | undefined {
  if (wanted === undefined) return []
  if (!Array.isArray(wanted) || wanted.length > MOST_URIS) return undefined
  return wanted.every((uri) => typeof uri === 'string' && uri.length <= LONGEST_URI) ? wanted : undefined
}
