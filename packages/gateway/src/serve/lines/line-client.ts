import { randomUUID } from 'node:crypto'
import type { Duplex } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import {
  Cancellation,
  type Era,
  isJsonObject,
  type Json,
  type JsonObject,
  JsonScanner,
  type Principal,
  SallyportError,
  ShortLivedMap,
  toOwnerKey,
} from '@sallyport/core'
import type { BodyBudget, BodyReservation } from '@sallyport/kit/http-intake'
import { LineReader } from '@sallyport/kit/line-reader'
import type { ConversationEvent } from '../../upstream/upstream.ts'
import { answerBatch, readBatch } from '../legacy/batch.ts'
import { type Handshake, readHandshake } from '../legacy/handshake.ts'
import { CallingClient, LegacyClient } from '../legacy/legacy-client.ts'
import type { ChangeHub } from '../rpc/change-hub.ts'
import { type ClientMessage, isPlainId, readMessage } from '../rpc/client-message.ts'
import type { ClientChannel } from '../rpc/client-request.ts'
import { ClientSubscriptions } from '../rpc/client-subscriptions.ts'
import { failureReply } from '../rpc/failure-reply.ts'
import type { Methods } from '../rpc/methods.ts'
import { ModernClient } from '../rpc/modern-client.ts'
import { checkEnvelope, isModern, versionErrorData } from '../rpc/modern-envelope.ts'
import { printId, toRequestId } from '../rpc/request-id.ts'
import { errorMessage, notificationMessage, resultMessage, type WireMessage } from '../rpc/wire-message.ts'
import { PendingListens } from './pending-listens.ts'

export interface LineClientOptions {
  readonly stream: Duplex
  readonly principal: Principal
  readonly methods: Methods
  readonly hub: ChangeHub
  readonly maxMessageBytes: number
  /** Shared memory budget of messages that are still being received. */
  readonly bodies: BodyBudget
  /** Called for events of the conversation that servers may need to know. */
  readonly onConversation: (conversation: string, notice: ConversationEvent) => void
}

/** Above this backlog, we stop reading from the client until it has caught up. */
const PAUSE_BACKLOG_BYTES = 8_000_000
/** Above this backlog, the client is disconnected, before its unread answers fill our memory. */
const MAX_BACKLOG_BYTES = 256_000_000

/** The SDKs drop progress that they read together with its answer (typescript-sdk#2580), so the answer waits this long. */
const PROGRESS_LEAD_MS = 5

type RequestMessage = Extract<ClientMessage, { kind: 'request' }>

/** MCP over a stream of lines: the gateway's end of an agent's stdio. */
export class LineClient implements ClientChannel {
  readonly #options: LineClientOptions
  readonly #inFlight = new ShortLivedMap<string | number, Cancellation>()
  readonly #subscriptions = new ClientSubscriptions((notification) => this.#write(notificationMessage(notification)))
  readonly #conversation = randomUUID()
  /** The client before `initialize`; for a modern client it never changes. */
  #client = this.#createClient({ protocolVersion: '', capabilities: {}, clientInfo: {} })
  /** Finds the id in a message that is skipped because it is too large. */
  #skippedScanner = new JsonScanner()
  #leaveHub: (() => void) | undefined
  /** Budget of the line that is being received. */
  #claim: BodyReservation | undefined
  /** Why the line is skipped, if the reason is not its own length. */
  #refusal: SallyportError | undefined
  readonly #listens = new PendingListens()
  /** When progress was last sent, by progress token. */
  readonly #progressAt = new Map<unknown, number>()

  constructor(options: LineClientOptions) {
    this.#options = options
  }

  /** Serves until the stream ends. */
  serve(): Promise<void> {
    const { stream, maxMessageBytes } = this.#options
    const reader: LineReader = new LineReader({
      unfinished: { grow: (bytes) => this.#claimBytes(bytes, () => reader.drop()), end: () => this.#releaseClaim() },
      limit: maxMessageBytes,
      onLine: (line) => this.#receive(line),
      onPassed: (piece) => this.#skippedScanner.feed(piece),
      onOversized: () => this.#refuseSkipped(),
    })
    stream.on('data', (chunk: Buffer) => reader.feed(chunk))
    return new Promise((resolve) => {
      stream.once('close', () => {
        this.#releaseClaim()
        this.#handleClose()
        resolve()
      })
      stream.on('error', () => stream.destroy())
      // A dead client and one that has closed its side look the same: both are gone.
      stream.once('end', () => stream.end())
    })
  }

  /** An unfinished line uses the same budget as an HTTP body that is still being received. */
  #claimBytes(bytes: number, drop: () => void): boolean {
    const { bodies, principal } = this.#options
    this.#claim ??= bodies.open(toOwnerKey(principal), (stalled) => {
      this.#refusal = stalled
      this.#releaseClaim()
      drop()
    })
    const refused = this.#claim.reserve(bytes)
    if (refused === undefined) return true
    this.#refusal = refused
    this.#releaseClaim()
    return false
  }

  #releaseClaim(): void {
    this.#claim?.release()
    this.#claim = undefined
  }

  #handleClose(): void {
    this.#leaveHub?.()
    this.#subscriptions.close()
    for (const cancellation of this.#inFlight.values()) cancellation.cancel('the client went away')
    this.#client.close('it went away')
    this.#options.onConversation(this.#conversation, 'over')
  }

  #createClient(handshake: Handshake): LegacyClient {
    return new LegacyClient(this.#conversation, handshake, {
      send: (message) => this.notify(message),
      isOpen: () => true,
    })
  }

  /** There is only one stream, so messages of all kinds use it. */
  notify(message: JsonObject): boolean {
    if (message.method === 'notifications/progress' && isJsonObject(message.params))
      this.#progressAt.set(message.params.progressToken, performance.now())
    if (!this.#listens.isEmpty) this.#listens.observe(message)
    return this.#write(notificationMessage(message))
  }

  /** Over a pipe, only the id tells a client which of its requests was refused. */
  #refuseSkipped(): void {
    const envelope = this.#skippedScanner.end()
    this.#skippedScanner = new JsonScanner()
    const id = envelope?.hasMethod ? (envelope.numericId ?? envelope.stringId) : undefined
    const { kind, code, text } = this.#refusal ?? messageTooLarge(this.#options.maxMessageBytes)
    this.#refusal = undefined
    const data = { code, retryable: kind.retryable }
    this.#write(errorMessage(isPlainId(id) ? id : undefined, { code: kind.rpc, message: text, data }))
  }

  #receive(line: Buffer): void {
    const message = readMessage(line)
    if ('error' in message) {
      if (message.batch) return void this.#handleBatch(message.batch)
      return void this.#write(errorMessage(message.id, { code: message.error.kind.rpc, message: message.error.text }))
    }
    if (message.kind === 'request') void this.#handleRequest(message, this.#send)
    else if (message.kind === 'notification') this.#handleNotification(message)
    else this.#client.receiveAnswer(message.id, message.message)
  }

  async #handleBatch(elements: readonly Json[]): Promise<void> {
    try {
      const messages = readBatch(elements, this.#client.handshake.protocolVersion)
      const answers = await answerBatch(messages, {
        answer: (request) => this.#collectAnswer(request),
        notify: (notification) => this.#handleNotification(notification),
        respond: ({ id, message }) => this.#client.receiveAnswer(id, message),
      })
      if (answers) this.#write(answers)
    } catch (error) {
      if (!(error instanceof SallyportError)) throw error
      this.#write(errorMessage(undefined, { code: error.kind.rpc, message: error.text }))
    }
  }

  async #collectAnswer(request: RequestMessage): Promise<WireMessage | undefined> {
    let answer: WireMessage | undefined
    await this.#handleRequest(request, (message) => {
      answer = message
    })
    return answer
  }

  async #handleRequest(message: RequestMessage, send: (answer: WireMessage) => void): Promise<void> {
    const { id, method, params } = message
    const era: Era = isModern(message) ? 'modern' : 'legacy'
    const problem = this.#inFlight.has(id) ? duplicateId(id) : era === 'modern' ? checkEnvelope(message) : undefined
    if (problem)
      return send(failureReply({ id, method, era }, problem, { data: versionErrorData(problem, message) }).message)
    if (era === 'legacy' && method === 'initialize') return this.#initialize(message)
    const cancellation = new Cancellation()
    this.#inFlight.set(id, cancellation)
    const { principal, methods } = this.#options
    if (method === 'subscriptions/listen') this.#listens.add(id)
    else if (!this.#listens.isEmpty) await this.#listens.wait()
    const client = era === 'modern' ? new ModernClient(params, this) : new CallingClient(this.#client, this)
    const reply = await methods.answer({
      id,
      method,
      params,
      principal,
      era,
      cancellation,
      client,
      subscriptions: this.#subscriptions,
    })
    const lead = this.#progressAt.size === 0 ? 0 : this.#remainingLead(params)
    if (lead > 0) await delay(lead)
    this.#inFlight.delete(id)
    this.#listens.settle(id)
    // A cancelled request gets no answer.
    if (cancellation.reason === undefined) send(reply.message)
  }

  /** How long the answer still has to wait after the last progress. */
  #remainingLead({ _meta }: JsonObject): number {
    const token = isJsonObject(_meta) ? _meta.progressToken : undefined
    const sentAt = this.#progressAt.get(token)
    this.#progressAt.delete(token)
    // At least 1 ms: without a new turn of the event loop, both would still be written together.
    return sentAt === undefined ? 0 : Math.max(1, sentAt + PROGRESS_LEAD_MS - performance.now())
  }

  async #initialize(message: RequestMessage): Promise<void> {
    const { methods, principal } = this.#options
    const { id, method, params } = message
    try {
      const result = await methods.initializeResult(principal, params.protocolVersion)
      this.#client.close('it sent initialize again')
      this.#client = this.#createClient(readHandshake(params, String(result.protocolVersion)))
      this.#write(resultMessage(id, result))
    } catch (error) {
      if (!(error instanceof SallyportError)) throw error
      this.#write(failureReply({ id, method, era: 'legacy' }, error).message)
    }
  }

  /** A legacy client gets notifications of changes only after `notifications/initialized`. */
  #watchChanges(): void {
    this.#leaveHub ??= this.#options.hub.add({
      principal: this.#options.principal,
      client: () => this.#client,
      wants: { tools: true, resources: true, prompts: true },
      notify: (notification) => this.#write(notificationMessage(notification)),
    })
  }

  #handleNotification({ method, params }: Extract<ClientMessage, { kind: 'notification' }>): void {
    if (method === 'notifications/initialized') this.#watchChanges()
    if (method === 'notifications/roots/list_changed') this.#options.onConversation(this.#conversation, method)
    const id = toRequestId(params.requestId)
    if (method !== 'notifications/cancelled' || id === undefined) return
    this.#inFlight.get(id)?.cancel('the client cancelled it')
  }

  readonly #send = (message: WireMessage): void => void this.#write(message)

  /** Returns false if the client is gone. */
  #write(message: WireMessage): boolean {
    const { stream } = this.#options
    if (stream.destroyed || stream.writableEnded) return false
    stream.cork()
    for (const piece of message) stream.write(piece)
    stream.write('\n')
    stream.uncork()
    if (stream.writableLength > MAX_BACKLOG_BYTES) stream.destroy()
    else if (stream.writableLength >= PAUSE_BACKLOG_BYTES && !stream.isPaused()) {
      stream.pause()
      stream.once('drain', () => stream.resume())
    }
    return true
  }
}

const messageTooLarge = (limit: number): SallyportError =>
  new SallyportError('BODY_TOO_LARGE', `The message is larger than ${limit} bytes.`, {
    hint: 'Send less, or raise gateway.max_body in config.yaml.',
  })

const duplicateId = (id: string | number): SallyportError =>
  new SallyportError('INVALID_REQUEST', `The id ${printId(id)} is in use by a request in flight.`)
