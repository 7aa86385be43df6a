import { randomUUID } from 'node:crypto'
import type { Duplex } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import {
  Cancellation,
  type Era,
  isJsonObject,
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
import { type Handshake, readHandshake } from '../legacy/handshake.ts'
import { CallingClient, LegacyClient } from '../legacy/legacy-client.ts'
import type { ChangeHub } from '../rpc/change-hub.ts'
import { type ClientMessage, isId, readMessage } from '../rpc/client-message.ts'
import type { ClientChannel } from '../rpc/client-request.ts'
import { ClientSubscriptions } from '../rpc/client-subscriptions.ts'
import { failureReply } from '../rpc/failure-reply.ts'
import type { Methods } from '../rpc/methods.ts'
import { ModernClient } from '../rpc/modern-client.ts'
import { checkEnvelope, isModern, versionErrorData } from '../rpc/modern-envelope.ts'
import { errorMessage, notificationMessage, resultMessage, type WireMessage } from '../rpc/wire-message.ts'

export interface LineClientOptions {
  readonly stream: Duplex
  readonly principal: Principal
  readonly methods: Methods
  readonly hub: ChangeHub
  readonly maxMessageBytes: number
  /** What messages share that are still coming in. */
  readonly bodies: BodyBudget
  /** What happens in the conversation that servers may have to know. */
  readonly onConversation: (conversation: string, notice: ConversationEvent) => void
}

/** A client that reads so slowly is not read from either, until it caught up. */
const PAUSE_BACKLOG_BYTES = 8_000_000
/** One that does not read at all is given up, before the answers to what it asked fill our memory. */
const MAX_BACKLOG_BYTES = 256_000_000

/** The SDKs lose progress that they read in one go with its answer (typescript-sdk#2580): so long it goes ahead. */
const PROGRESS_LEAD_MS = 5

type RequestMessage = Extract<ClientMessage, { kind: 'request' }>

/** MCP over a stream of lines: what an agent's stdio becomes once it reached the gateway. */
export class LineClient implements ClientChannel {
  readonly #options: LineClientOptions
  readonly #inFlight = new ShortLivedMap<string | number, Cancellation>()
  readonly #subscriptions = new ClientSubscriptions((notification) => this.#write(notificationMessage(notification)))
  readonly #conversation = randomUUID()
  /** What it is before it says `initialize`, and all that a modern one ever is. */
  #client = this.#createClient({ protocolVersion: '', capabilities: {}, clientInfo: {} })
  /** Looks for the id in a message that is too large to be kept. */
  #skippedScanner = new JsonScanner()
  #leaveHub: (() => void) | undefined
  /** Of the line that has begun and not ended. */
  #claim: BodyReservation | undefined
  /** Why it is passed over, where it is not for its own length. */
  #refusal: SallyportError | undefined
  /** By its token, when the client was last told of a request's progress. */
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
      // A client that is dead and one that said all it had to say look the same: both have gone.
      stream.once('end', () => stream.end())
    })
  }

  /** A line whose end does not come counts like a body that is still coming in. */
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

  #createClient(opening: Handshake): LegacyClient {
    return new LegacyClient(this.#conversation, opening, {
      send: (message) => this.notify(message),
      isOpen: () => true,
    })
  }

  /** Over one line everything goes the same way. */
  notify(message: JsonObject): boolean {
    if (message.method === 'notifications/progress' && isJsonObject(message.params))
      this.#progressAt.set(message.params.progressToken, performance.now())
    return this.#write(notificationMessage(message))
  }

  /** Over a pipe nothing but its id tells a client which of its requests was refused. */
  #refuseSkipped(): void {
    const envelope = this.#skippedScanner.end()
    this.#skippedScanner = new JsonScanner()
    const id = envelope?.hasMethod ? (envelope.numericId ?? envelope.stringId) : undefined
    const { kind, code, text } = this.#refusal ?? messageTooLarge(this.#options.maxMessageBytes)
    this.#refusal = undefined
    const data = { code, retryable: kind.retryable }
    this.#write(errorMessage(isId(id) ? id : undefined, { code: kind.rpc, message: text, data }))
  }

  #receive(line: Buffer): void {
    const message = readMessage(line)
    if ('error' in message) {
      return void this.#write(errorMessage(message.id, { code: message.error.kind.rpc, message: message.error.text }))
    }
    if (message.kind === 'request') void this.#handleRequest(message)
    else if (message.kind === 'notification') this.#handleNotification(message)
    else this.#client.receiveAnswer(message.id, message.message)
  }

  async #handleRequest(message: RequestMessage): Promise<void> {
    const { id, method, params } = message
    const era: Era = isModern(message) ? 'modern' : 'legacy'
    const flaw = this.#inFlight.has(id) ? duplicateId(id) : era === 'modern' ? checkEnvelope(message) : undefined
    if (flaw)
      return void this.#write(
        failureReply({ id, method, era }, flaw, { data: versionErrorData(flaw, message) }).message,
      )
    if (era === 'legacy' && method === 'initialize') return this.#initialize(message)
    const cancellation = new Cancellation()
    this.#inFlight.set(id, cancellation)
    const { principal, methods } = this.#options
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
    // A cancelled request gets no answer.
    if (cancellation.reason === undefined) this.#write(reply.message)
  }

  /** How long the answer still has to wait for the progress that was told before it. */
  #remainingLead({ _meta }: JsonObject): number {
    const token = isJsonObject(_meta) ? _meta.progressToken : undefined
    const toldAt = this.#progressAt.get(token)
    this.#progressAt.delete(token)
    // Time may have passed in this very turn: then both would still leave in one go.
    return toldAt === undefined ? 0 : Math.max(1, toldAt + PROGRESS_LEAD_MS - performance.now())
  }

  async #initialize(message: RequestMessage): Promise<void> {
    const { methods, principal } = this.#options
    const { id, method, params } = message
    try {
      const result = await methods.initializeResult(principal, params.protocolVersion)
      this.#client.close('it began anew')
      this.#client = this.#createClient(readHandshake(params, String(result.protocolVersion)))
      this.#write(resultMessage(id, result))
    } catch (error) {
      if (!(error instanceof SallyportError)) throw error
      this.#write(failureReply({ id, method, era: 'legacy' }, error).message)
    }
  }

  /** A legacy client hears of changes once it has said that it is ready for them. */
  #watchChanges(): void {
    this.#leaveHub ??= this.#options.hub.add({
      principal: this.#options.principal,
      wants: { tools: true, resources: true, prompts: true },
      notify: (notification) => this.#write(notificationMessage(notification)),
    })
  }

  #handleNotification({ method, params }: Extract<ClientMessage, { kind: 'notification' }>): void {
    if (method === 'notifications/initialized') this.#watchChanges()
    if (method === 'notifications/roots/list_changed') this.#options.onConversation(this.#conversation, method)
    const id = isJsonObject(params) ? params.requestId : undefined
    if (method !== 'notifications/cancelled' || (typeof id !== 'string' && typeof id !== 'number')) return
    this.#inFlight.get(id)?.cancel('the client cancelled it')
  }

  /** False when nobody is there to read it. */
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
  new SallyportError('INVALID_REQUEST', `The id ${JSON.stringify(id)} is in use by a request under way.`)
