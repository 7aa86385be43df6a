import {
  callCancelled,
  checkProgress,
  type Envelope,
  type Era,
  isJsonObject,
  type JsonObject,
  SallyportError,
  ShortLivedMap,
  withoutOwnMeta,
} from '@sallyport/core'
import { answerFlaw } from './answer-flaw.ts'
import { cleanAnswer } from './clean-answer.ts'
import type { AskClient, AskingHabit, StandingClient } from './client.ts'
import { DeadBuffers } from './dead-buffers.ts'
import { Deadlines } from './deadlines.ts'
import type { DropReason } from './dropped-messages.ts'
import { EarlyQuestions } from './early-questions.ts'
import { Exchange, type Patience } from './exchange.ts'
import { mayNotify } from './extensions.ts'
import { died, gone, timedOut } from './link-failure.ts'
import { readableLog, wantsToHear } from './log-level.ts'
import { OpenedPages } from './opened-pages.ts'
import type { OutgoingCall, OwnCall } from './outgoing-call.ts'
import { parseFrame } from './parse-frame.ts'
import { OWN_MESSAGE } from './permit.ts'
import { type Addressee, Questions } from './questions.ts'
import { RateLimit } from './rate-limit.ts'
import { createRequestIds } from './request-ids.ts'
import { requestText, type Sender } from './request-text.ts'
import type { UpstreamReply } from './server-behind.ts'
import { shownNotice } from './shown-notice.ts'
import type { Frame, Transport } from './transport.ts'

/** As whom we speak to a server. */
export interface Speaker {
  readonly clientInfo: JsonObject
  readonly capabilities: JsonObject
  /** The one client for whom the connection is there, where it can be reached outside of calls. */
  readonly client?: StandingClient | undefined
  /** Puts a question of the server to that client. */
  readonly ask?: AskClient | undefined
  /** All calls over it are one client's. */
  readonly isOneClient?: boolean
  /** What the server is called here. */
  readonly server?: string
  /** The server is a part of the gateway: what it says is said by us. */
  readonly isBuiltIn?: boolean
}

export interface LinkEvents {
  onNotification(notification: JsonObject): void
  /** The server asked something of its client. */
  onAsked(habit: AskingHabit): void
  onTrouble(text: string): void
  /** A message of the server was not passed on. */
  onDropped(reason: DropReason): void
  onClose(reason: string): void
}

/** Servers seldom go on for longer with what nobody waits for any more. */
const LINGERING = 60_000

/** What a request of a server may weigh: it has to be parsed, unlike an answer. */
const MAX_REQUEST_BYTES = 4_000_000
/** The same for a notification, which may come often. */
const MAX_NOTICE_BYTES = 65_536
/** Nothing that is parsed and walked may be deeper, but for lists: those are judged item by item. */
const MAX_DEPTH = 128
/** Notifications and requests of one connection, besides progress. */
const NOTICE_RATE = { burst: 1_000, perSecond: 100 }
const INVALID_REQUEST = -32600

/** Of all links: there is one memory. */
const deadBuffers = new DeadBuffers()

const LIST_METHODS: ReadonlySet<string> = new Set([
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
])
const MAX_OWN_DEPTH = 1_000
const CHANGES = /^notifications\/((tools|prompts|resources)\/list_changed|resources\/updated|subscriptions\/.*)$/

/** Many requests over one transport, each with exactly one outcome. */
export class Link {
  readonly #transport: Transport
  readonly #events: LinkEvents
  readonly #nextId = createRequestIds()
  readonly #exchanges = new ShortLivedMap<number, Exchange>()
  readonly #questions: Questions
  readonly #early: EarlyQuestions
  readonly #speaker: Speaker
  readonly #deadlines = new Deadlines((now) => this.#endLate(now))
  readonly #noticeRate = new RateLimit(NOTICE_RATE)
  readonly #pages = new OpenedPages()
  #sender: Sender
  /** What the server declared. */
  #capabilities: JsonObject = {}
  #usedAt = performance.now()
  /** It carried a quarantined call: what the server says outside of calls may be about that. */
  #hasQuarantined = false
  #closedBecause: string | undefined
  /** Until then a call that was given up may still be carried out, and speak. */
  #lingersUntil = 0

  constructor(transport: Transport, events: LinkEvents, speaker: Speaker) {
    this.#transport = transport
    this.#events = events
    this.#speaker = speaker
    this.#sender = { era: 'legacy', clientInfo: speaker.clientInfo }
    this.#questions = new Questions({
      send: (text) => this.#transport.send(text),
      isOneClient: speaker.isOneClient ?? false,
    })
    this.#early = new EarlyQuestions((message) => this.#questions.relay(message, undefined, []))
  }

  get speaker(): Speaker {
    return this.#speaker
  }

  /** Requests that somebody waits for; listening for changes is not one, nor is a check of ours. */
  get inFlight(): number {
    return this.#exchanges.values().filter(({ call }) => call.method !== 'subscriptions/listen' && !call.isBackground)
      .length
  }

  /** How long nobody has asked anything of the server or waited for it, in milliseconds. */
  get idleFor(): number {
    return this.inFlight > 0 ? 0 : performance.now() - this.#usedAt
  }

  /** Why nothing can be asked over it any more. */
  get closedBecause(): string | undefined {
    return this.#closedBecause
  }

  open(): Promise<void> {
    return this.#transport.open({
      onFrame: (frame, during) => this.#receive(frame, during),
      onFailure: (id, error) => this.#settle(id)?.reject(error),
      onTrouble: (text) => this.#events.onTrouble(text),
      onClose: (reason) => this.#closed(reason),
    })
  }

  /** From now on requests are written as this era wants them. */
  agree(era: Era, protocolVersion: string, capabilities: JsonObject): void {
    this.#capabilities = capabilities
    this.#sender = { era, clientInfo: this.#speaker.clientInfo }
    this.#transport.agreed(protocolVersion)
  }

  /** Something of our own that the server is asked. */
  async request(own: OwnCall & Patience): Promise<Frame> {
    return (await this.call({ ...own, permit: OWN_MESSAGE }, own)).frame
  }

  /** What was cancelled before it could be sent is not sent: the server might carry it out all the same. */
  call(call: OutgoingCall, patience: Patience): Promise<UpstreamReply> {
    if (this.#closedBecause !== undefined) return Promise.reject(gone(this.#closedBecause))
    const { cancellation } = call
    if (call.isQuarantined) this.#hasQuarantined = true
    if (cancellation?.reason !== undefined) return Promise.reject(callCancelled(cancellation.reason))
    // Who waits for the next answer has got the one before, where nobody else waits.
    if (deadBuffers.areMany && this.inFlight === 0) deadBuffers.free()
    return new Promise((resolve, reject) => {
      const id = this.#freshId()
      const text = requestText(id, call, this.#sender)
      const deadlines = this.#deadlines
      const exchange = new Exchange({ id, call, text, patience, resolve, reject, deadlines })
      this.#exchanges.set(id, exchange)
      if (!call.isBackground) this.#usedAt = performance.now()
      call.onSent?.(id)
      this.#transport.request(exchange)
      cancellation?.onCancel((reason) => this.#cancel(id, reason))
      if (this.#early.size > 0 && call.name !== undefined) this.#askEarly(id)
    })
  }

  notify(method: string, params?: JsonObject): void {
    this.#transport.send(JSON.stringify({ jsonrpc: '2.0', method, ...(params && { params }) }))
  }

  /** Whoever waits for an answer is told at once, not when the last process is gone. */
  close(): Promise<void> {
    this.#closed('the gateway closed the connection')
    return this.#transport.close()
  }

  #freshId(): number {
    let id = this.#nextId()
    while (this.#exchanges.has(id)) id = this.#nextId()
    return id
  }

  #receive(frame: Frame, during: number | undefined): void {
    const { envelope } = frame
    deadBuffers.note(envelope.bytes)
    if (envelope.hasMethod && !isAnswer(envelope)) return this.#message(frame, during)
    if (envelope.numericId === undefined) return this.#events.onTrouble('an answer without a usable id')
    const exchange = this.#settle(envelope.numericId)
    if (!exchange) return this.#events.onTrouble(`an answer to no open request (id ${envelope.numericId})`)
    const flaw = this.#flawOf(frame, exchange)
    if (flaw !== undefined) return exchange.reject(new SallyportError('UPSTREAM_PROTOCOL', flaw))
    const { call } = exchange
    const isOurs = call.name === undefined || this.#speaker.isBuiltIn
    const clean = isOurs ? frame : this.#cleaned(frame, call)
    if (envelope.error !== undefined && call.client) this.#pages.noteError(clean, call.client)
    exchange.tellLast()
    exchange.resolve({ frame: clean, era: this.#sender.era })
  }

  #cleaned(frame: Frame, { method, client }: OutgoingCall): Frame {
    const { server = 'unnamed' } = this.#speaker
    const onReplaced = (problem: string): void => this.#events.onTrouble(`an invalid ${problem}`)
    const takesAnyValue = client?.era !== 'legacy'
    return cleanAnswer(frame, { method, era: this.#sender.era, server, takesAnyValue, onReplaced })
  }

  #flawOf(frame: Frame, { call }: Exchange): string | undefined {
    const { result, error, hasMethod, depth } = frame.envelope
    if (hasMethod) return 'The server answered with a message that is a request as well.'
    if ((result === undefined) === (error === undefined))
      return 'The server answered with neither or both of a result and an error.'
    // What we asked ourselves is read with more patience.
    if (call.name !== undefined)
      return answerFlaw(frame, { request: call, era: this.#sender.era, capabilities: this.#capabilities })
    const isTooDeep = depth > MAX_OWN_DEPTH && !LIST_METHODS.has(call.method)
    return isTooDeep ? `The server's answer is nested deeper than ${MAX_OWN_DEPTH} levels.` : undefined
  }

  #message(frame: Frame, during: number | undefined): void {
    const { id, bytes, depth } = frame.envelope
    if (bytes > (id ? MAX_REQUEST_BYTES : MAX_NOTICE_BYTES) || depth > MAX_DEPTH) return this.#tooLarge(frame.envelope)
    const message = withoutOwnMeta(parseFrame(frame))
    const { method, params } = message
    if (typeof method !== 'string' || (params !== undefined && !isJsonObject(params)))
      return this.#events.onDropped('invalid')
    if (method === 'notifications/progress' && !id) return this.#progress(message, frame)
    // Many of these are one piece of news, and the last one must not be lost.
    if (CHANGES.test(method) && !id) return this.#events.onNotification(message)
    const mayPass = this.#noticeRate.take()
    if (id) return this.#asked(message, { during, mayPass })
    if (method === 'notifications/cancelled') return this.#takenBack(message)
    if (!mayPass) return this.#events.onDropped('too_many')
    this.#notify(message, frame, during)
  }

  /** Something for the client of a call, or for the one whose connection it is. */
  #notify(message: JsonObject, frame: Frame, during: number | undefined): void {
    const method = String(message.method)
    if (method === 'notifications/elicitation/complete') return this.#pageClosed(message)
    const notice = method === 'notifications/message' ? readableLog(message) : message
    if (!notice) return this.#events.onDropped('invalid')
    const calls = this.#callsOf(during)
    if (this.#isQuarantined(calls)) return
    const client = this.#lastOf(calls)?.client ?? this.#speaker.client
    const isAgreed =
      method === 'notifications/message' || mayNotify(method, client?.capabilities ?? {}, this.#capabilities)
    if (!isAgreed) return this.#events.onDropped('not_agreed')
    if (!client || !wantsToHear(client, notice)) return
    client.notify(this.#mayTellSecrets(calls) ? notice : shownNotice(notice, frame))
  }

  /** Only whoever was sent to a page is told that it is done. */
  #pageClosed(message: JsonObject): void {
    const client = this.#pages.close(message)
    if (client) client.notify(message)
    else this.#events.onDropped('unmatched')
  }

  /** Whoever waits for the answer to a request that nobody reads is told so. */
  #tooLarge({ bytes, numericId, textId }: Envelope): void {
    this.#events.onDropped('too_large')
    const id = numericId ?? textId
    if (id === undefined) return
    this.#refuseRequest(id, `A request of ${bytes} bytes, or one that is nested so deep, is not read.`)
  }

  #refuseRequest(id: string | number, message: string): void {
    this.#transport.send(JSON.stringify({ jsonrpc: '2.0', id, error: { code: INVALID_REQUEST, message } }))
  }

  #isQuarantined(calls: readonly number[]): boolean {
    if (!this.#hasQuarantined) return false
    return calls.length === 0 || calls.some((id) => this.#exchanges.get(id)?.call.isQuarantined)
  }

  /** Where it may be about one of several, each of them has to allow it. */
  #mayTellSecrets(calls: readonly number[]): boolean {
    return calls.length > 0 && calls.every((id) => this.#exchanges.get(id)?.call.mayTellSecrets)
  }

  #progress(message: JsonObject, frame: Frame): void {
    const { progressToken, ...told } = isJsonObject(message.params) ? message.params : {}
    const exchange = typeof progressToken === 'number' ? this.#exchanges.get(progressToken) : undefined
    if (!exchange) return this.#events.onDropped('unmatched')
    const progress = checkProgress(told)
    if (!isJsonObject(progress) || !exchange.isOnward(Number(progress.progress)))
      return this.#events.onDropped('invalid')
    const { mayTellSecrets } = exchange.call
    if (!exchange.progressed(mayTellSecrets ? progress : shownNotice(progress, frame)))
      this.#events.onDropped('too_many')
  }

  /** A request of the server's own. Only `ping` has an answer that concerns no client. */
  #asked(
    message: JsonObject,
    { during, mayPass }: { readonly during: number | undefined; readonly mayPass: boolean },
  ): void {
    const { id } = message
    if (typeof id !== 'string' && typeof id !== 'number') return this.#events.onDropped('invalid')
    if (!mayPass) {
      this.#events.onDropped('too_many')
      return this.#refuseRequest(id, 'The server asks too often.')
    }
    if (message.method === 'ping') return this.#transport.send(JSON.stringify({ jsonrpc: '2.0', id, result: {} }))
    this.#events.onAsked(during === undefined && message.method !== 'roots/list' ? 'anywhere' : 'in-call')
    const calls = this.#callsOf(during)
    const addressee = this.#addressee(calls)
    if (!addressee && this.#speaker.isOneClient) this.#early.keep(message)
    else this.#questions.relay(message, addressee, calls)
  }

  /** Its connection is there for this call: what was asked too early is asked now. */
  #askEarly(id: number): void {
    for (const message of this.#early.take()) this.#questions.relay(message, this.#addressee([id]), [id])
  }

  /** A question of the server's; or, where no stream can be closed, a request of ours to be told of changes. */
  #takenBack({ params }: JsonObject): void {
    const id = isJsonObject(params) ? params.requestId : undefined
    const isListening = typeof id === 'number' && this.#exchanges.get(id)?.call.method === 'subscriptions/listen'
    if (isListening)
      this.#settle(id)?.reject(new SallyportError('UPSTREAM_DIED', 'The server tells of no more changes.'))
    const wasOpen = [this.#early.cancel(id), this.#questions.cancel(id), isListening]
    if (!wasOpen.includes(true)) this.#events.onDropped('unmatched')
  }

  /**
   * The calls that a message may belong to. A shared pipe cannot tell: then it is known only while one call is under
   * way, and none that was given up may go on at the server; or where all are one client's.
   */
  #callsOf(during: number | undefined): readonly number[] {
    if (during !== undefined) return [during]
    const calls: number[] = []
    for (const { id, call } of this.#exchanges.values()) if (call.name !== undefined) calls.push(id)
    if (this.#speaker.isOneClient) return calls
    return calls.length === 1 && performance.now() > this.#lingersUntil ? calls : []
  }

  #lastOf(calls: readonly number[]): OutgoingCall | undefined {
    const id = calls.at(-1)
    return id === undefined ? undefined : this.#exchanges.get(id)?.call
  }

  #addressee(calls: readonly number[]): Addressee | undefined {
    const call = this.#lastOf(calls)
    const standing = this.#speaker.client?.isReachable ? this.#speaker.client : undefined
    const client = call?.client ?? standing
    if (!client) return undefined
    // Only through whoever judges and records it: a client's own `ask` does neither.
    const usual = (call?.client ? call.ask : this.#speaker.ask) ?? nobodyAsks
    const ask = this.#isQuarantined(calls) ? rootsOnly(usual) : usual
    const waiting = calls.map((id) => this.#exchanges.get(id))
    return { client, ask, waiting, onAnswered: (question) => this.#pages.noteQuestion(question, client) }
  }

  #endLate(now: number): number {
    let next = Number.POSITIVE_INFINITY
    for (const { id, call, lateAt, limit } of this.#exchanges.values()) {
      if (lateAt <= now) this.#abandon(id, 'timed out')?.reject(timedOut(call, limit))
      else next = Math.min(next, lateAt)
    }
    return next
  }

  #cancel(id: number, reason: string): void {
    this.#abandon(id, reason)?.reject(callCancelled(reason, 'sent'))
  }

  /** Stops waiting, and tells the server unless closing its stream already did. */
  #abandon(id: number, reason: string): Exchange | undefined {
    const exchange = this.#settle(id)
    if (!exchange) return undefined
    const told = this.#transport.abandon(id)
    if (exchange.call.name !== undefined) this.#lingersUntil = performance.now() + LINGERING
    // The handshake cannot be cancelled.
    if (!told && exchange.call.method !== 'initialize')
      this.notify('notifications/cancelled', { requestId: id, reason })
    return exchange
  }

  #settle(id: number): Exchange | undefined {
    const exchange = this.#exchanges.get(id)
    if (!exchange) return undefined
    this.#exchanges.delete(id)
    if (!exchange.call.isBackground) this.#usedAt = performance.now()
    exchange.stop()
    exchange.call.cancellation?.onCancel(undefined)
    this.#questions.endOf(id)
    return exchange
  }

  #closed(reason: string): void {
    if (this.#closedBecause !== undefined) return
    this.#closedBecause = reason
    this.#deadlines.stop()
    for (const { id } of this.#exchanges.values()) this.#settle(id)?.reject(died(reason))
    this.#early.stop()
    this.#questions.endAll()
    this.#events.onClose(reason)
  }
}

/** Something with a method that is an answer as well is no request: who asks does not answer. */
const isAnswer = ({ result, error }: Envelope): boolean => result !== undefined || error !== undefined

/** What a server asks for with no words of its own. */
const rootsOnly =
  (ask: AskClient): AskClient =>
  (question) =>
    question.method === 'roots/list' ? ask(question) : nobodyAsks(question)

const nobodyAsks: AskClient = async () => ({ error: { code: -32601, message: 'Nobody can be asked.' } })
