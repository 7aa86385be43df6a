import type { IncomingMessage } from 'node:http'
import {
  Cancellation,
  type Json,
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
import { answerBatch, readBatch } from '../legacy/batch.ts'
import { readHandshake } from '../legacy/handshake.ts'
import { CallingClient } from '../legacy/legacy-client.ts'
import type { LegacySession, LegacySessions } from '../legacy/legacy-sessions.ts'
import { type ClientMessage, readMessage } from '../rpc/client-message.ts'
import type { ClientRequest, Reply } from '../rpc/client-request.ts'
import { failureReply } from '../rpc/failure-reply.ts'
import { LongCalls } from '../rpc/long-calls.ts'
import type { Methods } from '../rpc/methods.ts'
import { ModernClient } from '../rpc/modern-client.ts'
import { checkModernRequest, isModern, versionErrorData } from '../rpc/modern-envelope.ts'
import { printId, type RequestId, toRequestId } from '../rpc/request-id.ts'
import { toRefusal } from '../rpc/to-refusal.ts'
import { resultMessage, type WireMessage } from '../rpc/wire-message.ts'
import { Backpressure } from './backpressure.ts'
import { FastRequest } from './fast-request-parser.ts'
import { acceptsJson, acceptsStream, HttpExchange, type HttpRequest, sendRefusal } from './http-exchange.ts'
import type { ResponseWriter } from './response-writer.ts'

export interface HttpMcpOptions {
  readonly methods: Methods
  readonly sessions: LegacySessions
  readonly maxBodyBytes: () => number
  /** Shared memory budget of requests that are still being received. */
  readonly bodies: BodyBudget
  /** Called for events of a conversation that servers may need to know. */
  readonly onConversation: (conversation: string, notice: ConversationEvent) => void
  /** Logs a bug once and returns the incident id for the answer. */
  readonly onBug: (error: unknown, where: string) => string
}

/** Calls `onEnd` as soon as the credential in this header is no longer valid. Returns a function that stops watching. */
export type WatchCredential = (authorization: string, onEnd: () => void) => () => void

interface AuthenticatedRequest {
  readonly request: IncomingMessage | FastRequest
  readonly answer: ResponseWriter
  readonly principal: Principal
  readonly watch: WatchCredential
}

type RequestMessage = Extract<ClientMessage, { kind: 'request' }>
type NotificationMessage = Extract<ClientMessage, { kind: 'notification' }>

const BODY_HINT = 'Raise gateway.max_body if the message has to be this large.'

/** MCP over HTTP: both eras on one endpoint, decided per message. */
export class HttpMcp {
  readonly #options: HttpMcpOptions
  readonly #backpressure = new Backpressure()
  readonly #longCalls = new LongCalls()

  constructor(options: HttpMcpOptions) {
    this.#options = options
  }

  /** Answers every request, also after an error. It uses no promises: each would cost more than all the checks of a call. */
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

  /** A body that is already in memory needs no share of the budget. */
  #bodyLimit({ request, principal }: AuthenticatedRequest): BodyLimit {
    const bounds = { limit: this.#options.maxBodyBytes(), hint: BODY_HINT }
    if (request instanceof FastRequest) return bounds
    return { ...bounds, budget: this.#options.bodies, owner: toOwnerKey(principal) }
  }

  /** Reads the message, prepares it for its era, and answers. */
  #post(visit: AuthenticatedRequest, body: Buffer | SallyportError): void {
    try {
      if (body instanceof SallyportError) throw body
      const message = readMessage(body)
      if ('error' in message && message.batch && visit.request.headers['mcp-session-id'] !== undefined)
        return this.#postBatch(visit, message.batch)
      if ('error' in message) return sendRefusal(visit.answer, message.error, { id: message.id })
      const isModernMessage = message.kind !== 'response' && isModern(message, visit.request.headers)
      const pending = isModernMessage ? this.#prepareModern(visit, message) : this.#prepareLegacy(visit, message)
      if (pending === undefined) return
      const reply = this.#options.methods.answer(pending.request)
      if (!(reply instanceof Promise)) return this.#reply(pending, reply)
      void reply.then((later) => this.#reply(pending, later)).catch((error: unknown) => this.#fail(visit, error))
    } catch (error) {
      this.#fail(visit, error)
    }
  }

  /** All requests of a batch share the POST: its stream, and one array with their answers. */
  #postBatch(visit: AuthenticatedRequest, elements: readonly Json[]): void {
    const { request, answer, principal } = visit
    checkLegacyVersion(request)
    const session = this.#requireSession(visit)
    const messages = readBatch(elements, session.client.handshake.protocolVersion)
    const first = messages.find((message) => 'kind' in message && message.kind === 'request')
    const { streams, subscriptions } = session
    const exchange = new HttpExchange(request, answer, { streams, requestId: (first?.id ?? '') as RequestId })
    this.#longCalls.add(exchange)
    const client = new CallingClient(session.client, exchange)
    const run = async ({ id, method, params }: RequestMessage): Promise<WireMessage> => {
      const era = 'legacy'
      if (session.inFlight.has(id)) return failureReply({ id, method, era }, duplicateId(id)).message
      const cancellation = new Cancellation()
      session.inFlight.set(id, cancellation)
      const isAwaited = (): boolean => exchange.isAwaited
      const call = { id, method, params, principal, era, client, cancellation, isAwaited, subscriptions } as const
      const reply = await this.#options.methods.answer({ ...call, carrier: request })
      session.inFlight.delete(id)
      return reply.message
    }
    const answering = answerBatch(messages, {
      answer: run,
      notify: (notification) => this.#applyNotification(session, notification),
      respond: ({ id, message }) => session.client.receiveAnswer(id, message),
    })
    void answering
      .then((answers) => {
        this.#longCalls.delete(exchange)
        if (!answers) return sendAccepted(answer)
        exchange.reply({ message: answers, status: 200 })
        if (exchange.connection) this.#backpressure.watch(exchange.connection)
      })
      .catch((error: unknown) => this.#fail(visit, error))
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

  /** `undefined` if the message was already answered. */
  #prepareModern(
    visit: AuthenticatedRequest,
    message: Exclude<ClientMessage, { kind: 'response' }>,
  ): PendingRequest | undefined {
    const { request, answer, principal } = visit
    // SDKs send notifications without an envelope, and close their connection if one is refused.
    if (message.kind === 'notification') return sendAccepted(answer)
    const { id, method, params } = message
    const problem = checkModernRequest(message, request.headers)
    if (problem) {
      sendRefusal(answer, problem, { id, data: versionErrorData(problem, message) })
      return undefined
    }
    if (method === 'subscriptions/listen') {
      requireStream(request)
      closeOnRevocation(visit)
    }
    const exchange = new HttpExchange(request, answer)
    exchange.cancelOnClose()
    const client = new ModernClient(params, exchange)
    const { cancellation } = exchange
    const prepared = { id, method, params, principal, era: 'modern', client, cancellation, carrier: request } as const
    return { exchange, session: undefined, request: prepared }
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
    if (session.inFlight.has(id)) throw duplicateId(id)
    const { streams, subscriptions } = session
    const exchange = new HttpExchange(request, answer, { streams, requestId: id })
    const { cancellation } = exchange
    session.inFlight.set(id, cancellation)
    this.#longCalls.add(exchange)
    const client = new CallingClient(session.client, exchange)
    const isAwaited = (): boolean => exchange.isAwaited
    // Written out: adding members to a copied object costs more than everything else here.
    const prepared = {
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
    return { exchange, session, request: prepared }
  }

  async #initialize(
    { request, answer, principal }: AuthenticatedRequest,
    { id, params }: RequestMessage,
  ): Promise<void> {
    const result = await this.#options.methods.initializeResult(principal, params.protocolVersion)
    const session = this.#options.sessions.open(principal, readHandshake(params, String(result.protocolVersion)))
    const reply = { message: resultMessage(id, result), status: 200 }
    new HttpExchange(request, answer).reply(reply, { 'mcp-session-id': session.id })
  }

  #handleNotification(session: LegacySession, message: NotificationMessage, answer: ResponseWriter): undefined {
    this.#applyNotification(session, message)
    return sendAccepted(answer)
  }

  #applyNotification(session: LegacySession, { method, params }: NotificationMessage): void {
    const id = toRequestId(params.requestId)
    if (method === 'notifications/cancelled' && id !== undefined)
      session.inFlight.get(id)?.cancel('the client cancelled it')
    if (method === 'notifications/roots/list_changed') this.#options.onConversation(session.id, method)
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
    // The modern era has neither sessions nor their verbs.
    const isModern = request.headers['mcp-protocol-version'] === MODERN_VERSION
    if (typeof id !== 'string' || isModern) {
      if (request.method !== 'POST') throw methodNotAllowed()
      throw new SallyportError('SESSION_REQUIRED', 'The header Mcp-Session-Id is missing.', {
        hint: 'Send initialize first, or the _meta envelope of 2026-07-28.',
      })
    }
    const session = this.#options.sessions.find(id, principal)
    if (!session)
      throw new SallyportError('SESSION_UNKNOWN', 'There is no such session, or it has ended.', {
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

/** Every other request is authenticated again. A stream is authenticated once and may stay open for days. */
function closeOnRevocation({ request, answer, watch }: AuthenticatedRequest): void {
  const { authorization } = request.headers
  // A closed connection emits no other `close`, so the watch would never end.
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
  // The values that the SDKs send, and so nearly every client.
  if (type === 'application/json' && accept === 'application/json, text/event-stream') return
  if (!/^application\/json\s*(;|$)/i.test(type))
    throw new SallyportError('MEDIA_REFUSED', 'The body must be application/json.')
  if (!acceptsJson(request) && !acceptsStream(request))
    throw new SallyportError('ACCEPT_REFUSED', 'The answer is application/json or text/event-stream: accept both.')
}

function checkLegacyVersion(request: HttpRequest): void {
  const version = request.headers['mcp-protocol-version']
  if (version === undefined || LEGACY_VERSIONS.includes(String(version))) return
  throw new SallyportError(
    'INVALID_REQUEST',
    `The header MCP-Protocol-Version names ${JSON.stringify(version)}, which is unknown.`,
    {
      hint: `Known versions: ${[MODERN_VERSION, ...LEGACY_VERSIONS].join(', ')}.`,
    },
  )
}

function requireStream(request: HttpRequest): void {
  if (acceptsStream(request)) return
  throw new SallyportError('ACCEPT_REFUSED', 'The stream is text/event-stream: accept that type.')
}

const duplicateId = (id: RequestId): SallyportError =>
  new SallyportError('INVALID_REQUEST', `The id ${printId(id)} is in use by a request in flight.`)

const methodNotAllowed = (): SallyportError =>
  new SallyportError('VERB_REFUSED', 'This endpoint accepts POST; GET and DELETE only with a session.')

function sendAccepted(answer: ResponseWriter): undefined {
  if (!answer.isSpent) answer.open().writeHead(202, { 'content-length': 0 }).end()
}
