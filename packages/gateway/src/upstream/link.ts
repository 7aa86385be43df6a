import { callCancelled, type Era, isJsonObject, type JsonObject, SallyportError, ShortLivedMap } from '@sallyport/core'
import { answerFlaw } from './answer-flaw.ts'
import type { AskClient, AskingHabit, StandingClient } from './client.ts'
import { DeadBuffers } from './dead-buffers.ts'
import { Deadlines } from './deadlines.ts'
import { EarlyQuestions } from './early-questions.ts'
import { Exchange, type Patience } from './exchange.ts'
import { gone, timedOut } from './link-failure.ts'
import type { LinkRequest } from './link-request.ts'
import { wantsToHear } from './log-level.ts'
import { parseFrame } from './parse-frame.ts'
import { type Addressee, Questions } from './questions.ts'
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
}

export interface LinkEvents {
  onNotification(notification: JsonObject): void
  /** The server asked something of its client. */
  onAsked(habit: AskingHabit): void
  onTrouble(text: string): void
  onClose(reason: string): void
}

/** Servers seldom go on for longer with what nobody waits for any more. */
const LINGERING = 60_000

/** What a message with a method may weigh: it has to be parsed, unlike an answer. */
const MAX_METHOD_BYTES = 4_000_000

/** Of all links: there is one memory. */
const deadBuffers = new DeadBuffers()

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
  #sender: Sender
  #usedAt = performance.now()
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

  /** Requests that somebody waits for; listening for changes is not one. */
  get inFlight(): number {
    return this.#exchanges.values().filter(({ request }) => request.method !== 'subscriptions/listen').length
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
  agree(era: Era, protocolVersion: string): void {
    this.#sender = { era, clientInfo: this.#speaker.clientInfo }
    this.#transport.agreed(protocolVersion)
  }

  /** Something of our own that the server is asked. */
  async request(request: LinkRequest & Patience): Promise<Frame> {
    return (await this.call(request, request)).frame
  }

  /** What was cancelled before it could be sent is not sent: the server might carry it out all the same. */
  call(request: LinkRequest, patience: Patience): Promise<UpstreamReply> {
    if (this.#closedBecause !== undefined) return Promise.reject(gone(this.#closedBecause))
    const { cancellation } = request
    if (cancellation?.reason !== undefined) return Promise.reject(callCancelled(cancellation.reason))
    // Who waits for the next answer has got the one before, where nobody else waits.
    if (deadBuffers.areMany && this.inFlight === 0) deadBuffers.free()
    return new Promise((resolve, reject) => {
      const id = this.#freshId()
      const text = requestText(id, request, this.#sender)
      this.#exchanges.set(id, new Exchange({ id, request, patience, resolve, reject, deadlines: this.#deadlines }))
      this.#usedAt = performance.now()
      request.onSent?.(id)
      const { method, name, headers, session, look } = request
      this.#transport.request({ id, method, name, headers, session, text, look })
      cancellation?.onCancel((reason) => this.#cancel(id, reason))
      if (this.#early.size > 0 && name !== undefined) this.#askEarly(id)
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
    if (envelope.hasMethod) return this.#message(frame, during)
    if (envelope.numericId === undefined) return this.#events.onTrouble('an answer without a usable id')
    const exchange = this.#settle(envelope.numericId)
    if (!exchange) return this.#events.onTrouble(`an answer to no open request (id ${envelope.numericId})`)
    if ((envelope.result === undefined) === (envelope.error === undefined)) {
      exchange.reject(
        new SallyportError('UPSTREAM_PROTOCOL', 'The server answered with neither or both of a result and an error.'),
      )
      return
    }
    // What we asked ourselves is read with more patience.
    const flaw = exchange.request.name === undefined ? undefined : answerFlaw(frame)
    if (flaw !== undefined) exchange.reject(new SallyportError('UPSTREAM_PROTOCOL', flaw))
    else exchange.resolve({ frame, era: this.#sender.era })
  }

  #message(frame: Frame, during: number | undefined): void {
    if (frame.envelope.bytes > MAX_METHOD_BYTES)
      return this.#events.onTrouble(`a notification of ${frame.envelope.bytes} bytes`)
    const message = parseFrame(frame)
    if (typeof message.method !== 'string') return this.#events.onTrouble('a message without a method')
    if (message.id !== undefined) return this.#asked(message, during)
    if (message.method === 'notifications/progress') return this.#progress(message, frame)
    if (message.method === 'notifications/cancelled') return this.#takenBack(message)
    if (CHANGES.test(message.method)) return this.#events.onNotification(message)
    const calls = this.#callsOf(during)
    const client = this.#lastOf(calls)?.client ?? this.#speaker.client
    if (!client || !wantsToHear(client, message)) return
    client.notify(this.#mayTellSecrets(calls) ? message : shownNotice(message, frame))
  }

  /** Where it may be about one of several, each of them has to allow it. */
  #mayTellSecrets(calls: readonly number[]): boolean {
    return calls.length > 0 && calls.every((id) => this.#exchanges.get(id)?.request.mayTellSecrets)
  }

  #progress(message: JsonObject, frame: Frame): void {
    const { progressToken, ...progress } = isJsonObject(message.params) ? message.params : {}
    const exchange = typeof progressToken === 'number' ? this.#exchanges.get(progressToken) : undefined
    if (!exchange) return
    exchange.progressed()
    const { request } = exchange
    request.onProgress?.(request.mayTellSecrets ? progress : shownNotice(progress, frame))
  }

  /** A request of the server's own. Only `ping` has an answer that concerns no client. */
  #asked(message: JsonObject, during: number | undefined): void {
    if (message.method === 'ping')
      return this.#transport.send(JSON.stringify({ jsonrpc: '2.0', id: message.id, result: {} }))
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
    this.#early.cancel(id)
    this.#questions.cancel(id)
    if (typeof id === 'number' && this.#exchanges.get(id)?.request.method === 'subscriptions/listen')
      this.#settle(id)?.reject(new SallyportError('UPSTREAM_DIED', 'The server tells of no more changes.'))
  }

  /**
   * The calls that a message may belong to. A shared pipe cannot tell: then it is known only while one call is under
   * way, and none that was given up may go on at the server; or where all are one client's.
   */
  #callsOf(during: number | undefined): readonly number[] {
    if (during !== undefined) return [during]
    const calls: number[] = []
    for (const { id, request } of this.#exchanges.values()) if (request.name !== undefined) calls.push(id)
    if (this.#speaker.isOneClient) return calls
    return calls.length === 1 && performance.now() > this.#lingersUntil ? calls : []
  }

  #lastOf(calls: readonly number[]): LinkRequest | undefined {
    const id = calls.at(-1)
    return id === undefined ? undefined : this.#exchanges.get(id)?.request
  }

  #addressee(calls: readonly number[]): Addressee | undefined {
    const request = this.#lastOf(calls)
    const standing = this.#speaker.client?.isReachable ? this.#speaker.client : undefined
    const client = request?.client ?? standing
    if (!client) return undefined
    // Only through whoever judges and records it: a client's own `ask` does neither.
    const ask = (request?.client ? request.ask : this.#speaker.ask) ?? nobodyAsks
    return { client, ask, waiting: calls.map((id) => this.#exchanges.get(id)) }
  }

  #endLate(now: number): number {
    let next = Number.POSITIVE_INFINITY
    for (const { id, request, lateAt, limit } of this.#exchanges.values()) {
      if (lateAt <= now) this.#abandon(id, 'timed out')?.reject(timedOut(request, limit))
      else next = Math.min(next, lateAt)
    }
    return next
  }

  #cancel(id: number, reason: string): void {
    this.#abandon(id, reason)?.reject(callCancelled(reason))
  }

  /** Stops waiting, and tells the server unless closing its stream already did. */
  #abandon(id: number, reason: string): Exchange | undefined {
    const exchange = this.#settle(id)
    if (!exchange) return undefined
    const told = this.#transport.abandon(id)
    if (exchange.request.name !== undefined) this.#lingersUntil = performance.now() + LINGERING
    // The handshake cannot be cancelled.
    if (!told && exchange.request.method !== 'initialize')
      this.notify('notifications/cancelled', { requestId: id, reason })
    return exchange
  }

  #settle(id: number): Exchange | undefined {
    const exchange = this.#exchanges.get(id)
    if (!exchange) return undefined
    this.#exchanges.delete(id)
    this.#usedAt = performance.now()
    exchange.stop()
    exchange.request.cancellation?.onCancel(undefined)
    this.#questions.endOf(id)
    return exchange
  }

  #closed(reason: string): void {
    if (this.#closedBecause !== undefined) return
    this.#closedBecause = reason
    this.#deadlines.stop()
    for (const { id } of this.#exchanges.values()) this.#settle(id)?.reject(gone(reason))
    this.#early.stop()
    this.#questions.endAll()
    this.#events.onClose(reason)
  }
}

const nobodyAsks: AskClient = async () => ({ error: { code: -32601, message: 'Nobody can be asked.' } })
