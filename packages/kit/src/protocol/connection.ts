import { createHash } from 'node:crypto'
import { canonicalJson, isJsonObject, isLogLevel, type JsonObject } from '@sallyport/core'
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
  type RequestId,
  readMessage,
} from '../json-rpc.ts'
import type { Definitions } from '../offers/offers.ts'
import { hasOpenStatement, settleStatements } from '../private-data/private-data.ts'
import { openAnswerLabeler } from './label-steps.ts'
import { describeServer, findMethod, type Method, refuseUnknownMethod } from './methods.ts'
import { Subscriptions } from './subscriptions.ts'

/** One peer of a server. Messages are JSON-RPC objects; whoever carries them is no concern of it. */
export interface Connection {
  /**
   * Takes one message. Never throws: a bad one is answered. `scope` is that of who brings it, where every message proves
   * that anew: what a newer token says counts from then on, not what was said when the connection was opened.
   */
  receive(message: unknown, scope?: RequestScope): void
  /** Cancels what is in flight; nothing is sent afterwards. */
  close(): void
}

/** Takes a message to the peer. `during` names the request that it belongs to. False when it cannot arrive. */
export type Send = (message: object, during?: RequestId) => unknown

export interface Peer {
  readonly send: Send
  /** On whose behalf every handler runs. */
  readonly scope: RequestScope | undefined
  /** Where calls wait that outlive their connection. Absent: none does. */
  readonly parked?: ParkedCalls<RunningCall> | undefined
  /** No answer will come to a request that the client cancelled. */
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
    if (incoming.kind !== 'request') return
    const answer = this.#handleRequest(incoming, scope)
    if (answer !== undefined) this.#sendAnswer(incoming.id, answer)
  }

  close(): void {
    if (this.#closed) return
    this.#subscriptions.close()
    this.#closed = true
    for (const call of this.#calls.values()) call.cancel()
    this.#calls.clear()
    this.#outgoing.close()
    this.#ownParked.close()
  }

  #handleNotification({ method, params }: Incoming<'notification'>): void {
    const { requestId: id } = params
    if (method !== 'notifications/cancelled' || !isRequestId(id)) return
    const isKnown = this.#subscriptions.has(id) || this.#calls.has(id)
    this.#subscriptions.cancel(id)
    this.#calls.get(id)?.cancel()
    this.#calls.delete(id)
    if (isKnown) this.#peer.onCancelled?.(id)
  }

  /** The answer, where it is known at once. */
  #handleRequest(request: Incoming<'request'>, scope: RequestScope | undefined): Answer | undefined {
    const { id, method, params } = request
    if (this.#calls.has(id) || this.#subscriptions.has(id))
      return errorAnswer(INVALID_REQUEST, 'A request with this id is still in flight.')
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
    if (!isLogLevel(params.level)) return errorAnswer(INVALID_PARAMS, 'params.level is no log level.')
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
    // A client with an isolated instance has to know the label before its first call.
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
    // An object of its own for each call: what its handler says of private data belongs to this call.
    const own = scope && Object.freeze({ ...scope })
    const isWithheld = (): boolean => own !== undefined && hasOpenStatement(own)
    const settle = async (): Promise<void> => own && settleStatements(own)
    const logger = String(this.#definitions.info.name)
    const call = new RunningCall({ roundTrip, logger, parked, createBinding, isWithheld, settle })
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

  /** The way of a call through this connection, as long as the request is in flight. */
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
      // A result that cannot be carried (a cycle, a BigInt) must still be answered.
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

function reportCrash(definitions: Definitions, error: unknown): Answer {
  const incident = definitions.reportBug('the kit', error)
  return errorAnswer(INTERNAL_ERROR, `Something went wrong inside the server (incident ${incident}).`)
}

const UNKNOWN_STATE = errorAnswer(
  INVALID_PARAMS,
  'params.requestState is not (or no longer) one of this server for this request. Send the request anew, without it.',
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
    // With what they may do: a token that grants less must not go on with what another one was let begin.
    owner: scope === undefined ? '' : JSON.stringify([scope.userId, scope.sessionId, scope.claims.permissions ?? null]),
    // Arguments may be megabytes, and secrets.
    request: createHash('sha256').update(request).digest('base64'),
  }
}
