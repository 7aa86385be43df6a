import { isJsonObject, type JsonObject, META } from '@sallyport/core'
import {
  type Answer,
  createNotification,
  errorAnswer,
  INVALID_PARAMS,
  METHOD_NOT_FOUND,
  type RequestId,
  type RpcError,
} from '../json-rpc.ts'
import type { Change, Definitions, ListKind } from '../offers/offers.ts'

const LIST_CHANGED_FILTERS: Readonly<Record<ListKind, string>> = {
  tools: 'toolsListChanged',
  resources: 'resourcesListChanged',
  prompts: 'promptsListChanged',
}

const LIST_KINDS = Object.keys(LIST_CHANGED_FILTERS) as readonly ListKind[]
/** A client that wants to hear of more resources than this can list them anew. */
const MAX_URIS = 1_000
const MAX_URI_LENGTH = 2_048

interface SubscriptionFilter {
  readonly kinds: readonly ListKind[]
  readonly uris: ReadonlySet<string>
}

/** What one connection wants to hear of: by open `subscriptions/listen` requests, or as the legacy era does. */
export class Subscriptions {
  readonly #definitions: Definitions
  readonly #send: (message: object, during?: RequestId) => void
  readonly #filters = new Map<RequestId, SubscriptionFilter>()
  /** Legacy clients hear of changed lists unasked, and of the resources that they subscribed to. */
  #legacyUris: Set<string> | undefined
  #unwatch: (() => void) | undefined

  constructor(definitions: Definitions, send: (message: object, during?: RequestId) => void) {
    this.#definitions = definitions
    this.#send = send
  }

  has(id: RequestId): boolean {
    return this.#filters.has(id)
  }

  openLegacy(): void {
    this.#legacyUris ??= new Set()
    this.#watch()
  }

  handleLegacyRequest(method: 'resources/subscribe' | 'resources/unsubscribe', { uri }: JsonObject): Answer {
    if (!this.#definitions.offers('resources')) return errorAnswer(METHOD_NOT_FOUND, 'There are no resources here.')
    if (typeof uri !== 'string' || uri.length > MAX_URI_LENGTH)
      return errorAnswer(INVALID_PARAMS, 'params.uri is missing or too long; expected the URI of a resource.')
    const uris = this.#legacyUris ?? new Set<string>()
    if (method === 'resources/unsubscribe') uris.delete(uri)
    else if (uris.size >= MAX_URIS)
      return errorAnswer(INVALID_PARAMS, `At most ${MAX_URIS} resources can be subscribed to.`)
    else uris.add(uri)
    return { result: {} }
  }

  /** Acknowledges what can be honoured, before anything else is sent under this id; or says what is wrong. */
  listen(id: RequestId, params: JsonObject): { readonly error: RpcError } | undefined {
    const wanted = params.notifications
    if (!isJsonObject(wanted))
      return errorAnswer(INVALID_PARAMS, 'params.notifications is missing; expected an object.')
    const kinds = LIST_KINDS.filter(
      (kind) => wanted[LIST_CHANGED_FILTERS[kind]] === true && this.#definitions.offers(kind),
    )
    const asked = this.#definitions.offers('resources') ? readUris(wanted.resourceSubscriptions) : []
    if (asked === undefined)
      return errorAnswer(INVALID_PARAMS, `resourceSubscriptions is not a list of at most ${MAX_URIS} URIs.`)
    this.#filters.set(id, { kinds, uris: new Set(asked) })
    this.#watch()
    const notifications = {
      ...Object.fromEntries(kinds.map((kind) => [LIST_CHANGED_FILTERS[kind], true])),
      ...(asked.length > 0 ? { resourceSubscriptions: asked } : {}),
    }
    this.#notify(id, 'notifications/subscriptions/acknowledged', { notifications })
    return undefined
  }

  /** The peer does not wait for an answer to what it cancelled. */
  cancel(id: RequestId): void {
    this.#filters.delete(id)
  }

  /** The graceful end: every listen request gets its result. */
  close(): void {
    for (const id of this.#filters.keys()) {
      const result = { resultType: 'complete', _meta: { [META.subscriptionId]: id } }
      this.#send({ jsonrpc: '2.0', id, result }, id)
    }
    this.#filters.clear()
    this.#unwatch?.()
  }

  /** Most connections of the modern era are one request that does not listen. */
  #watch(): void {
    this.#unwatch ??= this.#definitions.watch((change) => this.#announce(change))
  }

  #announce(change: Change): void {
    const [method, params] =
      'uri' in change
        ? ['notifications/resources/updated', { uri: change.uri }]
        : [`notifications/${change.kind}/list_changed`, {}]
    if (this.#legacyUris !== undefined && (!('uri' in change) || this.#legacyUris.has(change.uri)))
      this.#send('uri' in change ? createNotification(method, params) : createNotification(method))
    for (const [id, { kinds, uris }] of this.#filters)
      if ('uri' in change ? uris.has(change.uri) : kinds.includes(change.kind)) this.#notify(id, method, params)
  }

  #notify(id: RequestId, method: string, params: JsonObject): void {
    this.#send(createNotification(method, { _meta: { [META.subscriptionId]: id }, ...params }), id)
  }
}

function readUris(wanted: unknown): readonly string[] | undefined {
  if (wanted === undefined) return []
  if (!Array.isArray(wanted) || wanted.length > MAX_URIS) return undefined
  return wanted.every((uri) => typeof uri === 'string' && uri.length <= MAX_URI_LENGTH) ? wanted : undefined
}
