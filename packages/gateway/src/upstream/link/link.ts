import {
  callCancelledError,
  type Envelope,
  type Era,
  isJsonObject,
  type JsonObject,
  mayHoldSecret,
  redactJson,
  SallyportError,
  ShortLivedMap,
  sanitizeProgress,
  stripReservedMeta,
} from '@sallyport/core'
import { findAnswerProblem, mayNotify } from '../answers/answer-problem.ts'
import { BufferCollection } from '../answers/buffer-collection.ts'
import { cleanAnswer } from '../answers/clean-answer.ts'
import { readNamedPreset } from '../answers/named-preset.ts'
import { parseFrame } from '../answers/parse-frame.ts'
import { readQuestionClaims, readServerClaims } from '../answers/server-claims.ts'
import type { AskClient, QuestionScope, StandingClient } from '../client.ts'
import { GATEWAY_PERMIT } from '../permit.ts'
import type { Frame, Transport } from '../transport.ts'
import type { UpstreamReply } from '../upstream-interface.ts'
import { encodeIdentified, type TokenAudience, takesCallerTokens } from './caller-token.ts'
import { Deadlines } from './deadlines.ts'
import type { DropReason } from './dropped-messages.ts'
import { EarlyQuestions } from './early-questions.ts'
import { encodeRequest, type Sender } from './encode-request.ts'
import { GivenUpCalls } from './given-up-calls.ts'
import { diedError, goneError, narrowedError, sessionExpiredError, timeoutError } from './link-errors.ts'
import { acceptsNotification, normalizeLog } from './log-level.ts'
import type { GatewayCall, OutgoingCall } from './outgoing-call.ts'
import { type CallTimeouts, PendingRequest, RateLimit } from './pending-request.ts'
import { type Addressee, Questions, type ServerRequest } from './questions.ts'
import { createRequestIds } from './request-ids.ts'
import { UrlElicitations } from './url-elicitations.ts'

/** How we present ourselves to a server. */
export interface ConnectionIdentity {
  readonly clientInfo: JsonObject
  readonly capabilities: JsonObject
  /** The only client of the connection, if it can be reached outside of calls. */
  readonly client?: StandingClient | undefined
  /** Forwards a question of the server to that client. */
  readonly ask?: AskClient | undefined
  /** All calls over it belong to one client. */
  readonly isOneClient?: boolean
  /** The server's id in the configuration. */
  readonly server?: string
  /** The server is a part of the gateway: its messages are ours. */
  readonly isBuiltIn?: boolean
}

export interface LinkEvents {
  onNotification(notification: JsonObject): void
  /** The server asked its client a question. */
  onQuestion(habit: QuestionScope): void
  onWarning(text: string): void
  /** A message of the server was not passed on. */
  onDropped(reason: DropReason): void
  onClose(reason: string): void
  /** It must end, since it reaches too much for its session. */
  onTooWide?(): void
  /** The server forgot our session. A call needs a new one, or we only noticed it. */
  onSessionExpired?(cause: 'call' | 'background'): void
  /** Sends a call again that the server did not carry out: it had forgotten the session, or never got the call. */
  resend?(call: OutgoingCall): Promise<UpstreamReply>
}

/** The maximum size of a request from a server: unlike an answer, it is parsed. */
const MAX_REQUEST_BYTES = 4_000_000
/** The same for a notification, which may come often. */
const MAX_NOTIFICATION_BYTES = 65_536
/** The maximum depth of what is parsed and walked, except for lists: those are checked item by item. */
const MAX_DEPTH = 128
/** The allowed rate of notifications and requests of one connection, without progress. */
const MESSAGE_RATE = { burst: 1_000, perSecond: 100 }
const INVALID_REQUEST = -32600

/** Shared by all links, because they share one heap. */
const bufferCollection = new BufferCollection()

const LIST_METHODS: ReadonlySet<string> = new Set([
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
])
const MAX_OWN_DEPTH = 1_000
const CHANGE_METHODS = /^notifications\/((tools|prompts|resources)\/list_changed|resources\/updated|subscriptions\/.*)$/

/** Many requests over one transport, each with exactly one outcome. */
export class Link {
  readonly #transport: Transport
  readonly #events: LinkEvents
  readonly #nextId = createRequestIds()
  readonly #pending = new ShortLivedMap<number, PendingRequest>()
  readonly #questions: Questions
  readonly #earlyQuestions: EarlyQuestions
  readonly #identity: ConnectionIdentity
  readonly #deadlines = new Deadlines((now) => this.#expireOverdue(now))
  readonly #messageRate = new RateLimit(MESSAGE_RATE)
  readonly #urlElicitations = new UrlElicitations()
  #sender: Sender
  /** The server takes caller tokens. */
  #audience: TokenAudience | undefined
  /** The capabilities that the server declared. */
  #capabilities: JsonObject = {}
  #usedAt = performance.now()
  /** It carried a quarantined call: messages of the server outside of calls may be about that call. */
  #hasQuarantined = false
  #closeReason: string | undefined
  #onIdle: (() => void) | undefined
  /** Its session may reach less than the server can. */
  #isRetired = false
  readonly #givenUp = new GivenUpCalls()

  constructor(transport: Transport, events: LinkEvents, identity: ConnectionIdentity) {
    this.#transport = transport
    this.#events = events
    this.#identity = identity
    this.#sender = { era: 'legacy', clientInfo: identity.clientInfo }
    this.#questions = new Questions({
      send: (text, waiting) => this.#transport.send(text, waiting),
      isOneClient: identity.isOneClient ?? false,
    })
    this.#earlyQuestions = new EarlyQuestions((request) => this.#questions.relay(request, undefined, []))
  }

  get identity(): ConnectionIdentity {
    return this.#identity
  }

  /** The number of requests that somebody waits for, without listening requests and our own checks. */
  get inFlight(): number {
    return this.#pending.values().filter(({ call }) => call.method !== 'subscriptions/listen' && !call.isBackground)
      .length
  }

  /** How long nobody has sent a request or waited for an answer, in milliseconds. */
  get idleFor(): number {
    return this.inFlight > 0 ? 0 : performance.now() - this.#usedAt
  }

  /** Why it can no longer send requests. */
  get closeReason(): string | undefined {
    return this.#closeReason
  }

  open(): Promise<void> {
    return this.#transport.open({
      onFrame: (frame, during) => this.#receive(frame, during),
      onFailure: (id, error) => this.#settle(id)?.reject(error),
      onSessionExpired: (id) => this.#onSessionExpired(id),
      onTooWide: () => this.#events.onTooWide?.(),
      onWarning: (text) => this.#events.onWarning(text),
      onClose: (reason) => this.#onClosed(reason),
    })
  }

  /** From now on requests are encoded for this era. */
  completeHandshake(era: Era, protocolVersion: string, capabilities: JsonObject): void {
    this.#capabilities = capabilities
    this.#sender = { era, clientInfo: this.#identity.clientInfo }
    this.#transport.setProtocolVersion(protocolVersion)
    if (takesCallerTokens(capabilities)) this.#audience = this.#transport.audience
  }

  /** Whether the server is told who makes a request. */
  get namesCallers(): boolean {
    return this.#audience !== undefined
  }

  /** Sends a request of the gateway itself. */
  async request(own: GatewayCall & CallTimeouts): Promise<Frame> {
    return (await this.call({ ...own, permit: GATEWAY_PERMIT }, own)).frame
  }

  /** A request that was cancelled before it could be sent is not sent: the server might run it anyway. */
  call(call: OutgoingCall, timeouts: CallTimeouts): Promise<UpstreamReply> {
    if (this.#closeReason !== undefined) return Promise.reject(goneError(this.#closeReason))
    const { cancellation } = call
    if (call.isQuarantined) this.#hasQuarantined = true
    if (cancellation?.reason !== undefined) return Promise.reject(callCancelledError(cancellation.reason))
    // If nobody else waits, the client of the next call has received the previous answer: its buffers are dead.
    if (bufferCollection.isDue && this.inFlight === 0) bufferCollection.collect()
    return new Promise((resolve, reject) => {
      const id = this.#freshId()
      const currentText = this.#encodeIdentified(id, call)
      const text = currentText?.() ?? encodeRequest(id, call, this.#sender)
      const deadlines = this.#deadlines
      const exchange = new PendingRequest({ id, call, text, currentText, timeouts, resolve, reject, deadlines })
      this.#pending.set(id, exchange)
      if (!call.isBackground) this.#usedAt = performance.now()
      call.onSent?.(id)
      this.#transport.request(exchange)
      cancellation?.onCancel((reason) => this.#cancel(id, reason))
      if (this.#earlyQuestions.size > 0 && call.name !== undefined) this.#relayEarly(id)
    })
  }

  notify(method: string, params?: JsonObject): void {
    this.#transport.send(JSON.stringify({ jsonrpc: '2.0', method, ...(params && { params }) }))
  }

  /** Waiting requests fail at once, not when the last process is gone. */
  close(): Promise<void> {
    this.#onClosed('the gateway closed the connection')
    return this.#transport.close()
  }

  /** Closes it as soon as the requests in flight have their answers. It gets no others. */
  closeWhenIdle(): Promise<void> {
    if (this.inFlight === 0) return this.close()
    return new Promise((resolve, reject) => {
      this.#onIdle = () => void this.close().then(resolve, reject)
    })
  }

  /** The same for a server that must end soon: calls that it has not got go elsewhere. */
  retire(): Promise<void> {
    this.#isRetired = true
    for (const { id, call } of this.#pending.values()) {
      if (call.name === undefined || !this.#transport.abandon(id)) continue
      const exchange = this.#settle(id)
      const again = this.#events.resend?.(call)
      if (again !== undefined) exchange?.resolve(again)
      else exchange?.reject(goneError('it was ended'))
    }
    return this.closeWhenIdle()
  }

  /** Only calls of clients are sent again: after a new handshake, the gateway repeats its own requests anyway. */
  #onSessionExpired(id: number | undefined): void {
    const exchange = id === undefined ? undefined : this.#settle(id)
    const call = exchange?.call
    const mayResend = call?.name !== undefined && !call.isResent
    if (!call?.isResent) this.#events.onSessionExpired?.(mayResend ? 'call' : 'background')
    if (mayResend) call.permit.onResent?.()
    const again = mayResend ? this.#events.resend?.({ ...call, isResent: true }) : undefined
    if (again !== undefined) exchange?.resolve(again)
    else exchange?.reject(sessionExpiredError(call?.isResent === true))
  }

  /** `undefined` for nearly every call: a server is told who calls only if a person configured that. */
  #encodeIdentified(id: number, call: OutgoingCall): (() => string) | undefined {
    const audience = this.#audience
    const { caller } = call
    if (audience === undefined || caller === undefined) return undefined
    return encodeIdentified({ id, call, caller, audience, sender: this.#sender })
  }

  #freshId(): number {
    let id = this.#nextId()
    while (this.#pending.has(id)) id = this.#nextId()
    return id
  }

  #receive(frame: Frame, during: number | undefined): void {
    const { envelope } = frame
    bufferCollection.add(envelope.bytes)
    if (envelope.hasMethod && !isAnswer(envelope)) return this.#onMessage(frame, during)
    if (envelope.numericId === undefined) return this.#events.onWarning('an answer without a usable id')
    const exchange = this.#settle(envelope.numericId)
    if (!exchange) return this.#events.onWarning(`an answer that matches no open request (id ${envelope.numericId})`)
    const problem = this.#findProblem(frame, exchange)
    if (problem !== undefined) return exchange.reject(new SallyportError('UPSTREAM_PROTOCOL', problem))
    const { call } = exchange
    const isOurs = call.name === undefined || this.#identity.isBuiltIn
    const clean = isOurs ? frame : this.#clean(frame, call)
    if (envelope.error !== undefined && call.client) this.#urlElicitations.addFromError(clean, call.client)
    exchange.flushProgress()
    const reply = { frame: clean, era: this.#sender.era }
    const claims = isOurs ? undefined : readServerClaims(frame)
    if (claims === undefined) return exchange.resolve(reply)
    // Only a server that knows that we shorten results names a preset for them (SEN-21).
    const preset = this.#audience && readNamedPreset(frame)
    exchange.resolve({ ...reply, claims, ...(preset !== undefined && { preset }) })
  }

  #clean(frame: Frame, { method, client }: OutgoingCall): Frame {
    const { server = 'unnamed' } = this.#identity
    const onReplaced = (problem: string): void => this.#events.onWarning(`an invalid ${problem}`)
    const takesAnyValue = client?.era !== 'legacy'
    return cleanAnswer(frame, { method, era: this.#sender.era, server, takesAnyValue, onReplaced })
  }

  #findProblem(frame: Frame, { call }: PendingRequest): string | undefined {
    const { result, error, hasMethod, depth } = frame.envelope
    if (hasMethod) return 'The server answered with a message that is a request as well.'
    if ((result === undefined) === (error === undefined))
      return 'The server answered with neither or both of a result and an error.'
    // Answers to our own requests are checked less strictly.
    if (call.name !== undefined)
      return findAnswerProblem(frame, { request: call, era: this.#sender.era, capabilities: this.#capabilities })
    const isTooDeep = depth > MAX_OWN_DEPTH && !LIST_METHODS.has(call.method)
    return isTooDeep ? `The server's answer is nested deeper than ${MAX_OWN_DEPTH} levels.` : undefined
  }

  #onMessage(frame: Frame, during: number | undefined): void {
    const { id, bytes, depth } = frame.envelope
    if (bytes > (id ? MAX_REQUEST_BYTES : MAX_NOTIFICATION_BYTES) || depth > MAX_DEPTH)
      return this.#onTooLarge(frame.envelope)
    const received = parseFrame(frame)
    const message = stripReservedMeta(received)
    const { method, params } = message
    if (typeof method !== 'string' || (params !== undefined && !isJsonObject(params)))
      return this.#events.onDropped('invalid')
    if (method === 'notifications/progress' && !id) return this.#onProgress(message, frame)
    // Many of these are one piece of news, and the last one must not be lost.
    if (CHANGE_METHODS.test(method) && !id) return this.#events.onNotification(message)
    const mayPass = this.#messageRate.take()
    if (id) return this.#onRequest({ message, claims: readQuestionClaims(received, frame) }, { during, mayPass })
    if (method === 'notifications/cancelled') return this.#onCancelled(message)
    if (!mayPass) return this.#events.onDropped('too_many')
    this.#notify(message, frame, during)
  }

  /** A message for the client of a call, or for the client of the connection. */
  #notify(message: JsonObject, frame: Frame, during: number | undefined): void {
    const method = String(message.method)
    if (method === 'notifications/elicitation/complete') return this.#onElicitationComplete(message)
    const notice = method === 'notifications/message' ? normalizeLog(message) : message
    if (!notice) return this.#events.onDropped('invalid')
    const calls = this.#findCalls(during)
    if (this.#isQuarantined(calls)) return
    const client = this.#lastCall(calls)?.client ?? this.#identity.client
    const isAgreed =
      method === 'notifications/message' || mayNotify(method, client?.capabilities ?? {}, this.#capabilities)
    if (!isAgreed) return this.#events.onDropped('not_agreed')
    if (!client || !acceptsNotification(client, notice)) return
    client.notify(this.#mayTellSecrets(calls) ? notice : redactNotification(notice, frame))
  }

  /** Only the client that was sent to a page is told that it is done. */
  #onElicitationComplete(message: JsonObject): void {
    const client = this.#urlElicitations.complete(message)
    if (client) client.notify(message)
    else this.#events.onDropped('unmatched')
  }

  /** The sender of a request that is too large to read gets an error. */
  #onTooLarge({ bytes, numericId, stringId }: Envelope): void {
    this.#events.onDropped('too_large')
    const id = numericId ?? stringId
    if (id === undefined) return
    this.#refuseRequest(id, `A request of ${bytes} bytes, or one that is nested so deep, is not read.`)
  }

  #refuseRequest(id: string | number, message: string): void {
    this.#transport.send(JSON.stringify({ jsonrpc: '2.0', id, error: { code: INVALID_REQUEST, message } }))
  }

  #isQuarantined(calls: readonly number[]): boolean {
    if (!this.#hasQuarantined) return false
    return calls.length === 0 || calls.some((id) => this.#pending.get(id)?.call.isQuarantined)
  }

  /** If it may be about one of several calls, each of them must allow it. */
  #mayTellSecrets(calls: readonly number[]): boolean {
    return calls.length > 0 && calls.every((id) => this.#pending.get(id)?.call.mayTellSecrets)
  }

  #onProgress(message: JsonObject, frame: Frame): void {
    const { progressToken, ...told } = isJsonObject(message.params) ? message.params : {}
    const exchange = typeof progressToken === 'number' ? this.#pending.get(progressToken) : undefined
    if (!exchange) return this.#events.onDropped('unmatched')
    const progress = sanitizeProgress(told)
    if (!isJsonObject(progress) || !exchange.advanceTo(Number(progress.progress)))
      return this.#events.onDropped('invalid')
    const { mayTellSecrets } = exchange.call
    if (!exchange.reportProgress(mayTellSecrets ? progress : redactNotification(progress, frame)))
      this.#events.onDropped('too_many')
  }

  /** A request of the server itself. Only `ping` can be answered without a client. */
  #onRequest(
    request: ServerRequest,
    { during, mayPass }: { readonly during: number | undefined; readonly mayPass: boolean },
  ): void {
    const { message } = request
    const { id } = message
    if (typeof id !== 'string' && typeof id !== 'number') return this.#events.onDropped('invalid')
    if (!mayPass) {
      this.#events.onDropped('too_many')
      return this.#refuseRequest(id, 'The server asks too often.')
    }
    if (message.method === 'ping') return this.#transport.send(JSON.stringify({ jsonrpc: '2.0', id, result: {} }))
    this.#events.onQuestion(during === undefined && message.method !== 'roots/list' ? 'anywhere' : 'in-call')
    const calls = this.#findCalls(during)
    const addressee = this.#findAddressee(calls)
    if (!addressee && this.#identity.isOneClient) this.#earlyQuestions.add(request)
    else this.#questions.relay(request, addressee, calls)
  }

  /** The connection was opened for this call: questions that came too early are asked now. */
  #relayEarly(id: number): void {
    for (const request of this.#earlyQuestions.takeAll())
      this.#questions.relay(request, this.#findAddressee([id]), [id])
  }

  /**
   * Cancels a question of the server. Or, if no stream can be closed, the server ends our listening request this way.
   */
  #onCancelled({ params }: JsonObject): void {
    const id = isJsonObject(params) ? params.requestId : undefined
    const isListening = typeof id === 'number' && this.#pending.get(id)?.call.method === 'subscriptions/listen'
    if (isListening)
      this.#settle(id)?.reject(new SallyportError('UPSTREAM_DIED', 'The server stopped reporting changes.'))
    const wasOpen = [this.#earlyQuestions.cancel(id), this.#questions.cancel(id), isListening]
    if (!wasOpen.includes(true)) this.#events.onDropped('unmatched')
  }

  /**
   * The calls that a message may belong to. On a shared pipe that is known only if all calls which the server may be
   * working on belong to one client.
   */
  #findCalls(during: number | undefined): readonly number[] {
    if (during !== undefined) return [during]
    const open = [...this.#pending.values()].filter(({ call }) => call.name !== undefined)
    const isKnown = this.#identity.isOneClient || this.#givenUp.haveOneSenderWith(open.map(({ call }) => call))
    return isKnown ? open.map(({ id }) => id) : []
  }

  #lastCall(calls: readonly number[]): OutgoingCall | undefined {
    const id = calls.at(-1)
    return id === undefined ? undefined : this.#pending.get(id)?.call
  }

  #findAddressee(calls: readonly number[]): Addressee | undefined {
    const call = this.#lastCall(calls)
    const standing = this.#identity.client?.isReachable ? this.#identity.client : undefined
    const client = call?.client ?? standing
    if (!client) return undefined
    // Only through the function that checks and records the question: a client's own `ask` does neither.
    const usual = (call?.client ? call.ask : this.#identity.ask) ?? refuseQuestion
    const ask = this.#isQuarantined(calls) ? rootsOnly(usual) : usual
    const waiting = calls.map((id) => this.#pending.get(id))
    return { client, ask, waiting, onAnswered: (question) => this.#urlElicitations.addFromQuestion(question, client) }
  }

  #expireOverdue(now: number): number {
    let next = Number.POSITIVE_INFINITY
    for (const { id, call, timeoutAt, limit } of this.#pending.values()) {
      if (timeoutAt <= now) this.#abandon(id, 'timed out')?.reject(timeoutError(call, limit))
      else next = Math.min(next, timeoutAt)
    }
    return next
  }

  #cancel(id: number, reason: string): void {
    this.#abandon(id, reason)?.reject(callCancelledError(reason, 'sent'))
  }

  /** Stops waiting, and notifies the server unless closing the stream already did. */
  #abandon(id: number, reason: string): PendingRequest | undefined {
    const exchange = this.#settle(id)
    if (!exchange) return undefined
    const told = this.#transport.abandon(id)
    if (exchange.call.name !== undefined) this.#givenUp.add(exchange.call)
    // The protocol does not allow cancelling the handshake.
    if (!told && exchange.call.method !== 'initialize')
      this.notify('notifications/cancelled', { requestId: id, reason })
    return exchange
  }

  #settle(id: number): PendingRequest | undefined {
    const exchange = this.#pending.get(id)
    if (!exchange) return undefined
    this.#pending.delete(id)
    if (!exchange.call.isBackground) this.#usedAt = performance.now()
    exchange.stop()
    exchange.call.cancellation?.onCancel(undefined)
    this.#questions.endCall(id)
    if (this.#onIdle !== undefined && this.inFlight === 0) this.#onIdle()
    return exchange
  }

  #onClosed(reason: string): void {
    if (this.#closeReason !== undefined) return
    this.#closeReason = reason
    this.#deadlines.stop()
    const error = this.#isRetired ? narrowedError(reason) : diedError(reason)
    for (const { id } of this.#pending.values()) this.#settle(id)?.reject(error)
    this.#earlyQuestions.stop()
    this.#questions.endAll()
    this.#events.onClose(reason)
  }
}

/** A message with a method that is also an answer is not a request: who asks does not answer. */
const isAnswer = ({ result, error }: Envelope): boolean => result !== undefined || error !== undefined

/** A question that contains no text of the server. */
const rootsOnly =
  (ask: AskClient): AskClient =>
  (question) =>
    question.method === 'roots/list' ? ask(question) : refuseQuestion(question)

const refuseQuestion: AskClient = async () => ({ error: { code: -32601, message: 'Nobody can be asked.' } })

/** A notification of a server without keys and tokens. A check of the bytes is enough for nearly all of them. */
function redactNotification(notice: JsonObject, { parts }: Pick<Frame, 'parts'>): JsonObject {
  return mayHoldSecret(parts) ? (redactJson(notice) as JsonObject) : notice
}
