import type { JsonObject } from '@sallyport/core'
import { createCallContext, isLogLevel } from './call-context.ts'
import type { Definitions, ListKind } from './definitions.ts'
import { agreeLegacyVersion, NO_OPENING, type RequestMeta, readMeta, stampAnswer } from './era.ts'
import { type RequestScope, runInScope } from './identity/identity.ts'
import {
  type Answer,
  INTERNAL_ERROR,
  INVALID_PARAMS,
  INVALID_REQUEST,
  type Incoming,
  isRequestId,
  notification,
  type RequestId,
  readMessage,
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

export interface Peer {
  readonly send: (message: object) => void
  /** On whose behalf every handler runs. */
  readonly scope: RequestScope | undefined
}

const FIRST_LOG_LEVEL = 'info'

export class ServerConnection implements Connection {
  readonly #definitions: Definitions
  readonly #send: (message: object) => void
  readonly #scope: RequestScope | undefined
  readonly #calls = new Map<RequestId, AbortController>()
  readonly #subscriptions: Subscriptions
  readonly #unwatch: () => void
  #initialized = false
  #logLevel: string = FIRST_LOG_LEVEL
  #closed = false

  constructor(definitions: Definitions, { send, scope }: Peer) {
    this.#definitions = definitions
    this.#send = send
    this.#scope = scope
    this.#subscriptions = new Subscriptions(definitions, (message) => this.#deliver(message))
    this.#unwatch = definitions.watch((kind) => this.#listChanged(kind))
  }

  receive(message: unknown): void {
    if (this.#closed) return
    const incoming = readMessage(message)
    if (incoming.kind === 'bad') this.#answer(incoming.id, incoming)
    if (incoming.kind === 'notification') this.#notified(incoming)
    if (incoming.kind !== 'request') return
    const answer = this.#request(incoming)
    if (answer !== undefined) this.#answer(incoming.id, answer)
  }

  close(): void {
    if (this.#closed) return
    this.#subscriptions.end()
    this.#closed = true
    this.#unwatch()
    for (const call of this.#calls.values()) call.abort()
    this.#calls.clear()
  }

  #notified({ method, params }: Incoming<'notification'>): void {
    if (method !== 'notifications/cancelled' || !isRequestId(params.requestId)) return
    this.#subscriptions.cancel(params.requestId)
    this.#calls.get(params.requestId)?.abort()
    this.#calls.delete(params.requestId)
  }

  /** The answer, where it is known at once. */
  #request(request: Incoming<'request'>): Answer | undefined {
    const { id, method, params } = request
    if (this.#calls.has(id) || this.#subscriptions.has(id))
      return refuse(INVALID_REQUEST, 'A request with this id is still in flight.')
    const meta = readMeta(params)
    if ('error' in meta) return meta
    const own = meta.era === 'legacy' ? this.#legacyRequest(method, params) : undefined
    if (own !== undefined) return own
    if (meta.era === 'modern' && method === 'subscriptions/listen') return this.#subscriptions.listen(id, params)
    this.#run(request, meta).catch((error) => this.#crashed(id, error))
    return undefined
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

  async #run({ id, method: name, params }: Incoming<'request'>, meta: RequestMeta): Promise<void> {
    const { era } = meta
    const method = findMethod(name, era, this.#definitions)
    if (method === undefined) {
      this.#answer(id, unknownMethod(name))
      return
    }
    const call = new AbortController()
    this.#calls.set(id, call)
    const context = this.#context(id, call, meta)
    const request = { definitions: this.#definitions, era, params, context }
    const answer = await runInScope(this.#scope, () => method.answer(request))
    if (this.#calls.get(id) !== call) return
    this.#calls.delete(id)
    this.#answer(id, stampAnswer(answer, { era, serverInfo: this.#definitions.info, cacheScope: method.cacheScope }))
  }

  #crashed(id: RequestId, error: unknown): void {
    this.#calls.delete(id)
    const incident = this.#definitions.reportBug('the kit', error)
    this.#answer(id, refuse(INTERNAL_ERROR, `Something went wrong inside the server (incident ${incident}).`))
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
