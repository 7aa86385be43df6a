import type { IncomingMessage } from 'node:http'
import {
  isJsonObject,
  LEGACY_VERSIONS,
  MODERN_VERSION,
  type Principal,
  SallyportError,
  toOwnerKey,
} from '@sallyport/core'
import {
  type BodyBudget,
  type BodyLimit,
  bodyTooLarge,
  RETRY_AFTER_HEADERS,
  receiveBody,
} from '@sallyport/kit/http-intake'
import type { ConversationEvent } from '../../upstream/upstream.ts'
import { readHandshake } from '../legacy/handshake.ts'
import { CallingClient } from '../legacy/legacy-client.ts'
import type { LegacySession, LegacySessions } from '../legacy/legacy-sessions.ts'
import { type ClientMessage, readMessage } from '../rpc/client-message.ts'
import type { ClientRequest, Reply } from '../rpc/client-request.ts'
import { LongCalls } from '../rpc/long-calls.ts'
import type { Methods } from '../rpc/methods.ts'
import { ModernClient } from '../rpc/modern-client.ts'
import { checkModernRequest, isModern, versionErrorData } from '../rpc/modern-envelope.ts'
import { toRefusal } from '../rpc/to-refusal.ts'
import { resultMessage } from '../rpc/wire-message.ts'
import { Backpressure } from './backpressure.ts'
import { FastRequest } from './fast-request-parser.ts'
import { acceptsJson, acceptsStream, HttpExchange, type HttpRequest, sendRefusal } from './http-exchange.ts'
import type { ResponseWriter } from './response-writer.ts'

export interface HttpMcpOptions {
  readonly methods: Methods
  readonly sessions: LegacySessions
  readonly maxBodyBytes: () => number
  /** What requests share that are still coming in. */
  readonly bodies: BodyBudget
  /** What happens in a conversation that servers may have to know. */
  readonly onConversation: (conversation: string, notice: ConversationEvent) => void
  /** Says what broke, once; returns the incident that the answer names. */
  readonly onBug: (error: unknown, where: string) => string
}

/** Calls back as soon as what this header proves counts no longer. Returns the end of watching. */
export type WatchCredential = (authorization: string, onEnd: () => void) => () => void

interface AuthenticatedRequest {
  readonly request: IncomingMessage | FastRequest
  readonly answer: ResponseWriter
  readonly principal: Principal
  readonly watch: WatchCredential
}

type RequestMessage = Extract<ClientMessage, { kind: 'request' }>

const BODY_HINT = 'Raise gateway.max_body if it has to be.'

/** MCP over HTTP: both eras on one endpoint, told apart message by message. */
export class HttpMcp {
  readonly #options: HttpMcpOptions
  readonly #backpressure = new Backpressure()
  readonly #longCalls = new LongCalls()

  constructor(options: HttpMcpOptions) {
    this.#options = options
  }

  /** Answers every request itself, whatever happens. Without promises of its own: each would cost a call more than its checks do. */
  handle(visit: AuthenticatedRequest): void {
    const { request } = visit
    try {
      if (request.method === 'POST') {
        checkMediaTypes(request)
        receive(request, this.#bodyLimit(visit), (body) => this.#post(visit, body))
      } else if (request.method === 'GET') this.#openStream(visit)
      else if (request.method === 'DELETE') this.#endSession(visit)
      else throw methodNotAllowed()
    } catch (error) {
      this.#fail(visit, error)
    }
  }

  /** One that is here already needs no part of what others share. */
  #bodyLimit({ request, principal }: AuthenticatedRequest): BodyLimit {
    const bounds = { limit: this.#options.maxBodyBytes(), hint: BODY_HINT }
    if (request instanceof FastRequest) return bounds
    return { ...bounds, budget: this.#options.bodies, owner: toOwnerKey(principal) }
  }

  /** Reads the message, finds its client by its era, and answers. */
  #post(visit: AuthenticatedRequest, body: Buffer | SallyportError): void {
    try {
      if (body instanceof SallyportError) throw body
      const message = readMessage(body)
      if ('error' in message)
        return sendRefusal(visit.answer, message.error, { id: message.id as string | number | undefined })
      const isOfModern = message.kind !== 'response' && isModern(message, visit.request.headers)
      const asked = isOfModern ? this.#prepareModern(visit, message) : this.#prepareLegacy(visit, message)
      if (asked === undefined) return
      const reply = this.#options.methods.answer(asked.request)
      if (!(reply instanceof Promise)) return this.#reply(asked, reply)
      void reply.then((later) => this.#reply(asked, later)).catch((error: unknown) => this.#fail(visit, error))
    } catch (error) {
      this.#fail(visit, error)
    }
  }

  #fail({ request, answer }: AuthenticatedRequest, error: unknown): void {
    const refusal = toRefusal(error, (bug) => this.#options.onBug(bug, `${request.method} /mcp`))
    sendRefusal(answer, refusal, { headers: errorHeaders(refusal) })
  }

  #reply({ exchange, session, request }: PendingRequest, reply: Reply): void {
    if (session) {
      this.#longCalls.delete(exchange)
      session.inFlight.delete(request.id)
    }
    exchange.reply(reply)
    if (exchange.connection) this.#backpressure.watch(exchange.connection)
  }

  /** What a message asks for; undefined if it was answered already. */
  #prepareModern(
    visit: AuthenticatedRequest,
    message: Exclude<ClientMessage, { kind: 'response' }>,
  ): PendingRequest | undefined {
    const { request, answer, principal } = visit
    const flaw = checkModernRequest(message, request.headers)
    if (flaw) {
      const id = message.kind === 'request' ? message.id : undefined
      sendRefusal(answer, flaw, { id, data: versionErrorData(flaw, message) })
      return undefined
    }
    if (message.kind === 'notification') return sendAccepted(answer)
    const { id, method, params } = message
    if (method === 'subscriptions/listen') {
      requireStream(request)
      closeOnRevocation(visit)
    }
    const exchange = new HttpExchange(request, answer)
    exchange.cancelOnClose()
    const client = new ModernClient(params, exchange)
    const { cancellation } = exchange
    const asked = { id, method, params, principal, era: 'modern', client, cancellation, carrier: request } as const
    return { exchange, session: undefined, request: asked }
  }

  #prepareLegacy(visit: AuthenticatedRequest, message: ClientMessage): PendingRequest | undefined {
    const { request, answer, principal } = visit
    checkLegacyVersion(request)
    if (message.kind === 'request' && message.method === 'initialize') {
      void this.#initialize(visit, message).catch((error: unknown) => this.#fail(visit, error))
      return undefined
    }
    const session = this.#requireSession(visit)
    if (message.kind === 'notification') return this.#handleNotification(session, message, answer)
    if (message.kind === 'response') {
      session.client.receiveAnswer(message.id, message.message)
      return sendAccepted(answer)
    }
    const { id, method, params } = message
    if (session.inFlight.has(id))
      throw new SallyportError('INVALID_REQUEST', `The id ${JSON.stringify(id)} is in use by a request under way.`)
    const { streams, subscriptions } = session
    const exchange = new HttpExchange(request, answer, { streams, requestId: id })
    const { cancellation } = exchange
    session.inFlight.set(id, cancellation)
    this.#longCalls.add(exchange)
    const client = new CallingClient(session.client, exchange)
    const isAwaited = (): boolean => exchange.isAwaited
    // Written out: to add to a copied object costs more than all else here.
    const asked = {
      id,
      method,
      params,
      principal,
      era: 'legacy',
      client,
      cancellation,
      isAwaited,
      subscriptions,
      carrier: request,
    } as const
    return { exchange, session, request: asked }
  }

  async #initialize({ answer, principal }: AuthenticatedRequest, { id, params }: RequestMessage): Promise<void> {
    const result = await this.#options.methods.initializeResult(principal, params.protocolVersion)
    const session = this.#options.sessions.open(principal, readHandshake(params, String(result.protocolVersion)))
    answer.send({ message: resultMessage(id, result), status: 200 }, { 'mcp-session-id': session.id })
  }

  #handleNotification(
    session: LegacySession,
    { method, params }: Extract<ClientMessage, { kind: 'notification' }>,
    answer: ResponseWriter,
  ): undefined {
    const id = isJsonObject(params) ? params.requestId : undefined
    if (method === 'notifications/cancelled' && (typeof id === 'string' || typeof id === 'number')) {
      session.inFlight.get(id)?.cancel('the client cancelled it')
    }
    if (method === 'notifications/roots/list_changed') this.#options.onConversation(session.id, method)
    return sendAccepted(answer)
  }

  #openStream(visit: AuthenticatedRequest): void {
    const session = this.#requireSession(visit)
    requireStream(visit.request)
    const lastEventId = visit.request.headers['last-event-id']
    closeOnRevocation(visit)
    const response = visit.answer.open()
    session.streams.listen(response, typeof lastEventId === 'string' ? lastEventId : undefined)
    this.#backpressure.watch(response)
  }

  #endSession(visit: AuthenticatedRequest): void {
    this.#options.sessions.end(this.#requireSession(visit), 'the client ended the session')
    visit.answer.open().writeHead(204).end()
  }

  #requireSession({ request, principal }: AuthenticatedRequest): LegacySession {
    const id = request.headers['mcp-session-id']
    // The modern era knows neither sessions nor the verbs that belong to them.
    const isModern = request.headers['mcp-protocol-version'] === MODERN_VERSION
    if (typeof id !== 'string' || isModern) {
      if (request.method !== 'POST') throw methodNotAllowed()
      throw new SallyportError('SESSION_REQUIRED', 'The header Mcp-Session-Id is missing.', {
        hint: 'Send initialize first, or the _meta envelope of 2026-07-28.',
      })
    }
    const session = this.#options.sessions.find(id, principal)
    if (!session)
      throw new SallyportError('SESSION_UNKNOWN', 'There is no such session (any more).', {
        hint: 'Send initialize again.',
      })
    return session
  }
}

function errorHeaders({ code }: SallyportError): Readonly<Record<string, string>> {
  if (code === 'VERB_REFUSED') return { allow: 'POST, GET, DELETE' }
  return code === 'RATE_LIMITED' || code === 'OVERLOADED' ? RETRY_AFTER_HEADERS : NO_HEADERS
}

const NO_HEADERS: Readonly<Record<string, string>> = {}

/** A request that waits for its answer. */
interface PendingRequest {
  readonly exchange: HttpExchange
  readonly session: LegacySession | undefined
  readonly request: ClientRequest
}

/** Other requests prove anew who makes them; a stream was let in once, and may stay for days. */
function closeOnRevocation({ request, answer, watch }: AuthenticatedRequest): void {
  const { authorization } = request.headers
  // Nobody would say that one without a connection has closed, and it would be watched for ever.
  if (authorization === undefined || answer.isDisconnected) return
  const response = answer.open()
  response.once(
    'close',
    watch(authorization, () => response.destroy()),
  )
}

function receive(
  request: IncomingMessage | FastRequest,
  limit: BodyLimit,
  done: (body: Buffer | SallyportError) => void,
): void {
  if (!(request instanceof FastRequest)) return receiveBody(request, limit, done)
  done(request.body.length > limit.limit ? bodyTooLarge(limit) : request.body)
}

function checkMediaTypes(request: HttpRequest): void {
  const { 'content-type': type = '', accept } = request.headers
  // As the SDKs write it, and so nearly everybody.
  if (type === 'application/json' && accept === 'application/json, text/event-stream') return
  if (!/^application\/json\s*(;|$)/i.test(type))
    throw new SallyportError('MEDIA_REFUSED', 'The body must be application/json.')
  if (!acceptsJson(request) && !acceptsStream(request))
    throw new SallyportError(
      'ACCEPT_REFUSED',
      'The answer comes as application/json or text/event-stream: accept both.',
    )
}

function checkLegacyVersion(request: HttpRequest): void {
  const version = request.headers['mcp-protocol-version']
  if (version === undefined || LEGACY_VERSIONS.includes(String(version))) return
  throw new SallyportError(
    'INVALID_REQUEST',
    `The header MCP-Protocol-Version names ${JSON.stringify(version)}, which is unknown.`,
    {
      hint: `Known are ${[MODERN_VERSION, ...LEGACY_VERSIONS].join(', ')}.`,
    },
  )
}

function requireStream(request: HttpRequest): void {
  if (acceptsStream(request)) return
  throw new SallyportError('ACCEPT_REFUSED', 'The stream comes as text/event-stream: accept that.')
}

const methodNotAllowed = (): SallyportError =>
  new SallyportError('VERB_REFUSED', 'This endpoint takes POST; GET and DELETE only with a session.')

function sendAccepted(answer: ResponseWriter): undefined {
  if (!answer.isSpent) answer.open().writeHead(202, { 'content-length': 0 }).end()
}
