import { isJsonObject, type JsonObject } from '@sallyport/core'
import { createCallContext, isLogLevel } from './call-context.ts'
import type { Definitions, ListKind } from './definitions.ts'
import { agreeLegacyVersion, NO_OPENING, type RequestMeta, readMeta, stampAnswer } from './era.ts'
import {
  type Answer,
  INTERNAL_ERROR,
  INVALID_PARAMS,
  INVALID_REQUEST,
  isRequestId,
  notification,
  type RequestId,
  refuse,
} from './json-rpc.ts'
import { findMethod, introduce, unknownMethod } from './methods.ts'
import { Subscriptions } from './subscriptions.ts'

/** One peer of a server. Messages are JSON-RPC objects; whoever carries them is no concern of it. */
export interface Connection {
  /** Takes one message. Never throws: a bad one is answered. */
  receive(message: unknown): void
  /** Cancels what is in flight; nothing is sent afterwards. */
  close(): void
}

const FIRST_LOG_LEVEL = 'info'

export class ServerConnection implements Connection {
  readonly #definitions: Definitions
  readonly #send: (message: object) => void
  readonly #calls = new Map<RequestId, AbortController>()
  readonly #subscriptions: Subscriptions
  readonly #unwatch: () => void
  #initialized = false
  #logLevel: string = FIRST_LOG_LEVEL
  #closed = false

  constructor(definitions: Definitions, send: (message: object) => void) {
    this.#definitions = definitions
    this.#send = send
    this.#subscriptions = new Subscriptions(definitions, (message) => this.#deliver(message))
    this.#unwatch = definitions.watch((kind) => this.#listChanged(kind))
  }

  receive(message: unknown): void {
    if (this.#closed) return
    if (!isJsonObject(message) || message.jsonrpc !== '2.0')
      return this.#answer(null, refuse(INVALID_REQUEST, 'Expected one JSON-RPC 2.0 message: an object.'))
    const { id, method } = message
    if (typeof method !== 'string') return this.#withoutMethod(message)
    const params = message.params ?? {}
    if (!isJsonObject(params)) {
      if (isRequestId(id)) this.#answer(id, refuse(INVALID_PARAMS, 'params is not an object.'))
      return
    }
    if (id === undefined) return this.#notified(method, params)
    if (!isRequestId(id)) return this.#answer(null, refuse(INVALID_REQUEST, 'The id is neither a text nor a number.'))
    if (this.#calls.has(id) || this.#subscriptions.has(id))
      return this.#answer(id, refuse(INVALID_REQUEST, 'A request with this id is still in flight.'))
    this.#request(id, method, params)
  }

  close(): void {
    if (this.#closed) return
    this.#subscriptions.end()
    this.#closed = true
    this.#unwatch()
    for (const call of this.#calls.values()) call.abort()
    this.#calls.clear()
  }

  /** We ask nothing of our peer, so an answer cannot be for us. */
  #withoutMethod(message: JsonObject): void {
    if ('result' in message || 'error' in message) return
    this.#answer(isRequestId(message.id) ? message.id : null, refuse(INVALID_REQUEST, 'The method is missing.'))
  }

  #notified(method: string, params: JsonObject): void {
    if (method !== 'notifications/cancelled' || !isRequestId(params.requestId)) return
    this.#subscriptions.cancel(params.requestId)
    this.#calls.get(params.requestId)?.abort()
    this.#calls.delete(params.requestId)
  }

  #request(id: RequestId, method: string, params: JsonObject): void {
    const meta = readMeta(params)
    if ('error' in meta) return this.#answer(id, meta)
    const own = meta.era === 'legacy' ? this.#legacyRequest(method, params) : undefined
    if (own !== undefined) return this.#answer(id, own)
    if (meta.era === 'modern' && method === 'subscriptions/listen') {
      const refusal = this.#subscriptions.listen(id, params)
      return refusal && this.#answer(id, refusal)
    }
    void this.#run(id, { method, params, meta })
  }

  /** The requests of the legacy era that are about the connection itself. */
  #legacyRequest(method: string, params: JsonObject): Answer | undefined {
    if (method === 'initialize') return this.#initialize(params)
    if (method === 'ping') return undefined
    if (!this.#initialized) return NO_OPENING
    if (method !== 'logging/setLevel') return undefined
    if (!isLogLevel(params.level)) return refuse(INVALID_PARAMS, 'params.level is no log level.')
    this.#logLevel = params.level
    return { result: {} }
  }

  #initialize(params: JsonObject): Answer {
    if (typeof params.protocolVersion !== 'string')
      return refuse(INVALID_PARAMS, 'params.protocolVersion is missing; expected a text.')
    this.#initialized = true
    const protocolVersion = agreeLegacyVersion(params.protocolVersion)
    return { result: { protocolVersion, serverInfo: this.#definitions.info, ...introduce(this.#definitions) } }
  }

  async #run(id: RequestId, request: { method: string; params: JsonObject; meta: RequestMeta }): Promise<void> {
    const { params, meta } = request
    const method = findMethod(request.method, meta.era, this.#definitions)
    if (method === undefined) return this.#answer(id, unknownMethod(request.method))
    const call = new AbortController()
    this.#calls.set(id, call)
    const context = this.#context(id, call, meta)
    const answer = await method.answer({ definitions: this.#definitions, era: meta.era, params, context })
    if (this.#calls.get(id) !== call) return
    this.#calls.delete(id)
    const stamp = { era: meta.era, serverInfo: this.#definitions.info, cacheScope: method.cacheScope }
    this.#answer(id, stampAnswer(answer, stamp))
  }

  #context(id: RequestId, call: AbortController, meta: RequestMeta) {
    return createCallContext({
      signal: call.signal,
      progressToken: meta.progressToken,
      logLevel: meta.era === 'modern' ? meta.logLevel : this.#logLevel,
      logger: String(this.#definitions.info.name),
      notify: (method, params) => {
        if (this.#calls.get(id) === call) this.#deliver(notification(method, params))
      },
    })
  }

  #listChanged(kind: ListKind): void {
    if (this.#initialized) this.#deliver(notification(`notifications/${kind}/list_changed`))
    this.#subscriptions.listChanged(kind)
  }

  #answer(id: RequestId | null, answer: Answer): void {
    if (this.#closed) return
    try {
      this.#send({ jsonrpc: '2.0', id, ...answer })
    } catch (error) {
      // A result that cannot be carried (a cycle, a BigInt) must still be answered.
      const incident = this.#definitions.reportBug('an answer', error)
      const refusal = refuse(INTERNAL_ERROR, `The answer could not be sent (incident ${incident}).`)
      if (!('error' in answer)) this.#answer(id, refusal)
    }
  }

  #deliver(message: object): void {
    if (this.#closed) return
    try {
      this.#send(message)
    } catch (error) {
      this.#definitions.reportBug('a notification', error)
    }
  }
}
