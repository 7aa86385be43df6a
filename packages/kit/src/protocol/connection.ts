import { createHash } from 'node:crypto'
import { canonicalJson, isJsonObject, isLogLevel, type JsonObject, META } from '@sallyport/core'
import {
  type CallBinding,
  createCallContext,
  OutgoingRequests,
  ParkedCalls,
  type RoundTrip,
  RunningCall,
} from '../call/call.ts'
import { addEraFields, HANDSHAKE_REQUIRED, negotiateLegacyVersion, type RequestMeta, readRequestMeta } from '../era.ts'
import { type RequestScope, runInScope } from '../identity/identity.ts'
import {
  type Answer,
  createNotification,
  errorAnswer,
  INTERNAL_ERROR,
  INVALID_PARAMS,
  INVALID_REQUEST,
  type Incoming,
  isRequestId,
  METHOD_NOT_FOUND,
  type RequestId,
  type RpcError,
  readMessage,
} from '../json-rpc.ts'
import type { Change, Definitions, ListKind } from '../offers/offers.ts'
import { hasOpenStatement } from '../private-data/private-data.ts'
import { type Admission, CALLER_MISSING, type CallerGate } from './caller-gate.ts'
import { labelQuestion, openAnswerLabeler } from './label-enforcement.ts'
import { describeServer, findMethod, type Method, refuseUnknownMethod } from './methods.ts'

/** One peer of a server. Messages are JSON-RPC objects; the transport does not matter here. */
export interface Connection {
  /**
   * Receives one message. Never throws: an invalid one gets an error answer. `scope` is the sender's scope if every
   * message is authenticated: a newer token then replaces that of the connection's opening.
   */
  receive(message: unknown, scope?: RequestScope): void
  /** Cancels the requests in flight; nothing is sent afterwards. */
  close(): void
}

/** Sends a message to the peer. `during` is the id of the request that it belongs to. False if it cannot be delivered. */
export type Send = (message: object, during?: RequestId) => unknown

export interface Peer {
  readonly send: Send
  /** The identity for which every handler runs. */
  readonly scope: RequestScope | undefined
  /** Finds out for whom a gateway sends each request. If missing, all are for `scope`. */
  readonly gate?: CallerGate | undefined
  /** Stores calls that outlive their connection. If missing, none does. */
  readonly parked?: ParkedCalls<RunningCall> | undefined
  /** Called when the client cancelled a request: it will not be answered. */
  readonly onCancelled?: ((id: RequestId) => void) | undefined
}

interface ScopedRequest extends Pick<RequestMeta, 'era'> {
  readonly params: JsonObject
  readonly scope: RequestScope | undefined
}

const DEFAULT_LOG_LEVEL = 'info'

export class McpConnection implements Connection {
  readonly #definitions: Definitions
  readonly #peer: Peer
  readonly #calls = new Map<RequestId, RunningCall>()
  /** Requests whose caller token is being verified. */
  readonly #admitting = new Map<RequestId, object>()
  readonly #outgoing = new OutgoingRequests((message, during) => this.#deliver(message, during))
  readonly #ownParked = new ParkedCalls<RunningCall>()
  readonly #subscriptions: Subscriptions
  #capabilities: JsonObject | undefined
  #logLevel: string = DEFAULT_LOG_LEVEL
  #closed = false

  constructor(definitions: Definitions, peer: Peer) {
    this.#definitions = definitions
    this.#peer = peer
    this.#subscriptions = new Subscriptions(definitions, (message, during) => this.#deliver(message, during))
  }

  receive(message: unknown, scope = this.#peer.scope): void {
    if (this.#closed) return
    const incoming = readMessage(message)
    if (incoming.kind === 'bad') this.#sendAnswer(incoming.id, incoming)
    if (incoming.kind === 'notification') this.#handleNotification(incoming)
    if (incoming.kind === 'response') this.#outgoing.handleResponse(incoming)
    if (incoming.kind === 'request') this.#admit(incoming, scope)
  }

  close(): void {
    if (this.#closed) return
    this.#subscriptions.close()
    this.#closed = true
    for (const call of this.#calls.values()) call.cancel()
    this.#calls.clear()
    this.#admitting.clear()
    this.#outgoing.close()
    this.#ownParked.close()
  }

  #handleNotification({ method, params }: Incoming<'notification'>): void {
    const { requestId: id } = params
    if (method !== 'notifications/cancelled' || !isRequestId(id)) return
    const isKnown = this.#isInFlight(id)
    this.#admitting.delete(id)
    this.#subscriptions.cancel(id)
    this.#calls.get(id)?.cancel()
    this.#calls.delete(id)
    if (isKnown) this.#peer.onCancelled?.(id)
  }

  #isInFlight(id: RequestId): boolean {
    return this.#calls.has(id) || this.#subscriptions.has(id) || this.#admitting.has(id)
  }

  /** Finds out who calls, then handles the request. */
  #admit(request: Incoming<'request'>, scope: RequestScope | undefined): void {
    const { id } = request
    if (this.#isInFlight(id))
      return this.#sendAnswer(id, errorAnswer(INVALID_REQUEST, 'A request with this id is still in flight.'))
    const admission = this.#peer.gate?.admit(request, scope) ?? { request, scope }
    if (!(admission instanceof Promise)) return this.#handleAdmission(id, admission)
    const ticket = {}
    this.#admitting.set(id, ticket)
    admission
      .catch((error) => reportCrash(this.#definitions, error))
      .then((admitted) => {
        // It may have been cancelled meanwhile, and its id used again.
        if (this.#admitting.get(id) !== ticket) return
        this.#admitting.delete(id)
        this.#handleAdmission(id, admitted)
      })
      .catch((error) => this.#definitions.reportBug('a request', error))
  }

  #handleAdmission(id: RequestId, admission: Admission): void {
    const answer = 'error' in admission ? admission : this.#handleRequest(admission.request, admission.scope)
    if (answer !== undefined) this.#sendAnswer(id, answer)
  }

  /** The answer, if it is available at once. */
  #handleRequest(request: Incoming<'request'>, scope: RequestScope | undefined): Answer | undefined {
    const { id, method, params } = request
    const meta = readRequestMeta(params)
    if ('error' in meta) return meta
    if (meta.era === 'legacy' && method === 'initialize') return this.#initialize(request, scope)
    const own = meta.era === 'legacy' ? this.#handleLegacyRequest(method, params) : undefined
    if (own !== undefined) return own
    if (meta.era === 'modern' && method === 'subscriptions/listen') return this.#subscriptions.listen(id, params)
    return this.#startCall(request, meta, scope)
  }

  /** The requests of the legacy era that are about the connection itself. */
  #handleLegacyRequest(method: string, params: JsonObject): Answer | undefined {
    if (method === 'ping') return undefined
    if (this.#capabilities === undefined) return HANDSHAKE_REQUIRED
    if (method === 'resources/subscribe' || method === 'resources/unsubscribe')
      return this.#subscriptions.handleLegacyRequest(method, params)
    if (method !== 'logging/setLevel') return undefined
    if (!isLogLevel(params.level)) return errorAnswer(INVALID_PARAMS, 'params.level is not a valid log level.')
    this.#logLevel = params.level
    return { result: {} }
  }

  #initialize({ id, params }: Incoming<'request'>, scope: RequestScope | undefined): Answer | undefined {
    if (typeof params.protocolVersion !== 'string')
      return errorAnswer(INVALID_PARAMS, 'params.protocolVersion is missing or not a string.')
    this.#capabilities = isJsonObject(params.capabilities) ? params.capabilities : {}
    this.#subscriptions.openLegacy()
    const protocolVersion = negotiateLegacyVersion(params.protocolVersion)
    const answer = {
      result: { protocolVersion, serverInfo: this.#definitions.info, ...describeServer(this.#definitions) },
    }
    if (scope === undefined) return answer
    // A client with an isolated instance must know the label before its first call.
    runInScope(scope, () => openAnswerLabeler('initialize', this.#definitions).label(answer))
      .catch((error) => reportCrash(this.#definitions, error))
      .then(
        (labelled) => this.#sendAnswer(id, labelled),
        () => undefined,
      )
    return undefined
  }

  #startCall(request: Incoming<'request'>, meta: RequestMeta, scope: RequestScope | undefined): Answer | undefined {
    const { id, params } = request
    const method = findMethod(request.method, meta.era, this.#definitions)
    if (method === undefined) return refuseUnknownMethod(request.method)
    if (method.isForCaller && scope === undefined && this.#definitions.takesCallers) return CALLER_MISSING
    const roundTrip = this.#openRoundTrip(request, meta, method)
    if ('error' in roundTrip) return roundTrip
    const createBinding = (): CallBinding => createCallBinding(request, scope)
    const parked = this.#peer.parked ?? this.#ownParked
    if (meta.era === 'modern' && method.mayAsk && params.requestState !== undefined) {
      const call = parked.take(String(params.requestState), createBinding())
      if (call === undefined) return UNKNOWN_STATE
      this.#calls.set(id, call)
      call.resume(roundTrip)
      return undefined
    }
    // Each call gets its own object, because the handler's statements about private data belong to this call.
    const own = scope && Object.freeze({ ...scope })
    const isWithheld = (): boolean => own !== undefined && hasOpenStatement(own)
    const readLabel = async (): Promise<JsonObject | undefined> => own && labelQuestion(own, this.#definitions)
    const logger = String(this.#definitions.info.name)
    const call = new RunningCall({ roundTrip, logger, parked, createBinding, isWithheld, readLabel })
    this.#calls.set(id, call)
    this.#run(call, method, { era: meta.era, params, scope: own })
    return undefined
  }

  #run(call: RunningCall, method: Method, { era, params, scope }: ScopedRequest): void {
    const context = createCallContext(call)
    const request = { definitions: this.#definitions, era, params, context }
    const toCrash = (error: unknown): Answer => reportCrash(this.#definitions, error)
    runInScope(scope, async () => method.answer(request))
      .catch(toCrash)
      .then((answer) => call.finish(answer), toCrash)
  }

  /** The channel of a call through this connection, as long as the request is in flight. */
  #openRoundTrip(
    { id, params }: Incoming<'request'>,
    meta: RequestMeta,
    method: Method,
  ): RoundTrip | Extract<Answer, { error: unknown }> {
    const { era, progressToken } = meta
    const { inputResponses: responses = {} } = era === 'modern' && method.mayAsk ? params : {}
    if (!isJsonObject(responses)) return errorAnswer(INVALID_PARAMS, 'params.inputResponses is not an object.')
    const { info: serverInfo } = this.#definitions
    const isOn = (): boolean => this.#calls.get(id)?.activeRequest === round
    const round: RoundTrip = {
      progressToken,
      responses,
      logLevel: era === 'modern' ? meta.logLevel : this.#logLevel,
      capabilities: era === 'modern' ? meta.capabilities : (this.#capabilities ?? {}),
      push: era === 'modern' ? undefined : (question, signal) => this.#outgoing.ask(question, id, signal),
      notify: (name, body) => {
        if (isOn()) this.#deliver(createNotification(name, body), id)
      },
      answer: (answer) => {
        this.#calls.delete(id)
        this.#sendAnswer(id, addEraFields(answer, { era, serverInfo, cacheScope: method.cacheScope }))
      },
    }
    return round
  }

  #sendAnswer(id: RequestId | null, answer: Answer): void {
    if (this.#closed) return
    try {
      this.#peer.send({ jsonrpc: '2.0', id, ...answer }, id ?? undefined)
    } catch (error) {
      // A result that cannot be serialized (a cycle, a BigInt) must still get an answer.
      const incident = this.#definitions.reportBug('an answer', error)
      const refusal = errorAnswer(INTERNAL_ERROR, `The answer could not be sent (incident ${incident}).`)
      if (!('error' in answer)) this.#sendAnswer(id, refusal)
    }
  }

  #deliver(message: object, during?: RequestId): boolean {
    if (this.#closed) return false
    try {
      return this.#peer.send(message, during) !== false
    } catch (error) {
      this.#definitions.reportBug('a notification', error)
      return false
    }
  }
}

function reportCrash(definitions: Definitions, error: unknown): { readonly error: RpcError } {
  const incident = definitions.reportBug('the kit', error)
  return errorAnswer(INTERNAL_ERROR, `Something went wrong inside the server (incident ${incident}).`)
}

const UNKNOWN_STATE = errorAnswer(
  INVALID_PARAMS,
  'params.requestState is not valid (any more) for this request. Send the request again without it.',
)

function createCallBinding({ method, params }: Incoming<'request'>, scope: RequestScope | undefined): CallBinding {
  const { name, uri, arguments: args } = params
  const request = canonicalJson({
    method,
    ...(name !== undefined && { name }),
    ...(uri !== undefined && { uri }),
    args: args ?? {},
  })
  return {
    // The key includes the permissions: a token that grants less must not continue a call that another token began.
    owner: scope === undefined ? '' : JSON.stringify([scope.userId, scope.sessionId, scope.claims.permissions ?? null]),
    // Arguments may be megabytes long and secret, so they are hashed.
    request: createHash('sha256').update(request).digest('base64'),
  }
}

const LIST_CHANGED_FILTERS: Readonly<Record<ListKind, string>> = {
  tools: 'toolsListChanged',
  resources: 'resourcesListChanged',
  prompts: 'promptsListChanged',
}

const LIST_KINDS = Object.keys(LIST_CHANGED_FILTERS) as readonly ListKind[]
/** A client that follows more resources than this can list them again instead. */
const MAX_URIS = 1_000
const MAX_URI_LENGTH = 2_048

interface SubscriptionFilter {
  readonly kinds: readonly ListKind[]
  readonly uris: ReadonlySet<string>
}

/** The changes that one connection follows, by open `subscriptions/listen` requests or by legacy subscriptions. */
class Subscriptions {
  readonly #definitions: Definitions
  readonly #send: (message: object, during?: RequestId) => void
  readonly #filters = new Map<RequestId, SubscriptionFilter>()
  /** Legacy clients are notified of every changed list, and of the resources that they subscribed to. */
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

  /** Acknowledges the supported filters before anything else is sent under this id, or returns an error. */
  listen(id: RequestId, params: JsonObject): { readonly error: RpcError } | undefined {
    const filters = params.notifications
    if (!isJsonObject(filters))
      return errorAnswer(INVALID_PARAMS, 'params.notifications is missing; expected an object.')
    const kinds = LIST_KINDS.filter(
      (kind) => filters[LIST_CHANGED_FILTERS[kind]] === true && this.#definitions.offers(kind),
    )
    const uris = this.#definitions.offers('resources') ? readUris(filters.resourceSubscriptions) : []
    if (uris === undefined)
      return errorAnswer(INVALID_PARAMS, `resourceSubscriptions is not a list of at most ${MAX_URIS} URIs.`)
    this.#filters.set(id, { kinds, uris: new Set(uris) })
    this.#watch()
    const notifications = {
      ...Object.fromEntries(kinds.map((kind) => [LIST_CHANGED_FILTERS[kind], true])),
      ...(uris.length > 0 ? { resourceSubscriptions: uris } : {}),
    }
    this.#notify(id, 'notifications/subscriptions/acknowledged', { notifications })
    return undefined
  }

  /** The peer does not wait for an answer to a cancelled request. */
  cancel(id: RequestId): void {
    this.#filters.delete(id)
  }

  /** Ends gracefully: every listen request gets its result. */
  close(): void {
    for (const id of this.#filters.keys()) {
      const result = { resultType: 'complete', _meta: { [META.subscriptionId]: id } }
      this.#send({ jsonrpc: '2.0', id, result }, id)
    }
    this.#filters.clear()
    this.#unwatch?.()
  }

  /** Watches only when needed: most connections of the modern era are one request that does not listen. */
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

function readUris(value: unknown): readonly string[] | undefined {
  if (value === undefined) return []
  if (!Array.isArray(value) || value.length > MAX_URIS) return undefined
  return value.every((uri) => typeof uri === 'string' && uri.length <= MAX_URI_LENGTH) ? value : undefined
}
