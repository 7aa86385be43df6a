import type { Duplex } from 'node:stream'
import {
  Cancellation,
  type Era,
  isJsonObject,
  type JsonObject,
  JsonScanner,
  type Principal,
  SallyportError,
} from '@sallyport/core'
import { LineReader } from '@sallyport/kit/line-reader'
import type { ChangeHub } from './change-hub.ts'
import { failureReply } from './failure-reply.ts'
import { type Incoming, isId, readMessage } from './incoming.ts'
import type { Methods } from './methods.ts'
import { envelopeFlaw, flawData, isModern } from './modern-envelope.ts'
import { errorMessage, notificationMessage, resultMessage, type WireMessage } from './wire-message.ts'

export interface LineClientOptions {
  readonly stream: Duplex
  readonly principal: Principal
  readonly methods: Methods
  readonly hub: ChangeHub
  readonly maxMessageBytes: number
}

/** A client that reads so slowly is not read from either, until it caught up. */
const BACKLOG_LIMIT = 8_000_000
/** One that does not read at all is given up, before the answers to what it asked fill our memory. */
const BACKLOG_MOST = 256_000_000

type ClientCall = Extract<Incoming, { kind: 'request' }>

/** MCP over a stream of lines: what an agent's stdio becomes once it reached the gateway. */
export class LineClient {
  readonly #options: LineClientOptions
  readonly #inFlight = new Map<string | number, Cancellation>()
  readonly #subscriptions = new Set<string>()
  /** Looks for the id in a message that is too large to be kept. */
  #passing = new JsonScanner()
  #leaveHub: (() => void) | undefined

  constructor(options: LineClientOptions) {
    this.#options = options
  }

  /** Serves until the stream ends. */
  serve(): Promise<void> {
    const { stream, maxMessageBytes } = this.#options
    const reader = new LineReader({
      limit: maxMessageBytes,
      onLine: (line) => this.#receive(line),
      onPassed: (piece) => this.#passing.feed(piece),
      onOversized: () => this.#passed(),
    })
    stream.on('data', (chunk: Buffer) => reader.feed(chunk))
    return new Promise((resolve) => {
      stream.once('close', () => {
        this.#ended()
        resolve()
      })
      stream.on('error', () => stream.destroy())
      // A client that is dead and one that said all it had to say look the same: both have gone.
      stream.once('end', () => stream.end())
    })
  }

  #ended(): void {
    this.#leaveHub?.()
    for (const cancellation of this.#inFlight.values()) cancellation.cancel('the client went away')
  }

  /** Over a pipe nothing but its id tells a client which of its requests was refused. */
  #passed(): void {
    const envelope = this.#passing.end()
    this.#passing = new JsonScanner()
    const id = envelope?.hasMethod ? (envelope.numericId ?? envelope.textId) : undefined
    const { kind, code, text } = tooLarge(this.#options.maxMessageBytes)
    const data = { code, retryable: kind.retryable }
    this.#write(errorMessage(isId(id) ? id : undefined, { code: kind.rpc, message: text, data }))
  }

  #receive(line: Buffer): void {
    const message = readMessage(line)
    if ('error' in message) {
      return this.#write(errorMessage(message.id, { code: message.error.kind.rpc, message: message.error.text }))
    }
    if (message.kind === 'request') void this.#request(message)
    else if (message.kind === 'notification') this.#notified(message)
  }

  async #request(message: ClientCall): Promise<void> {
    const { id, method, params } = message
    const era: Era = isModern(message) ? 'modern' : 'legacy'
    const flaw = this.#inFlight.has(id) ? duplicate(id) : era === 'modern' ? envelopeFlaw(message) : undefined
    if (flaw) return this.#write(failureReply({ id, method, era }, flaw, flawData(flaw, message)).message)
    if (era === 'legacy' && method === 'initialize') return this.#initialize(message)
    const cancellation = new Cancellation()
    this.#inFlight.set(id, cancellation)
    const { principal, methods } = this.#options
    const notify = (notification: JsonObject): void => this.#write(notificationMessage(notification))
    const reply = await methods.answer({
      id,
      method,
      params,
      principal,
      era,
      cancellation,
      notify,
      subscriptions: this.#subscriptions,
    })
    this.#inFlight.delete(id)
    // A cancelled request gets no answer.
    if (cancellation.reason === undefined) this.#write(reply.message)
  }

  #initialize(message: ClientCall): void {
    const { methods, principal } = this.#options
    this.#write(resultMessage(message.id, methods.initializeResult(principal, message.params.protocolVersion)))
  }

  /** A legacy client hears of changes once it has said that it is ready for them. */
  #tellChanges(): void {
    this.#leaveHub ??= this.#options.hub.add({
      wants: { tools: true, resources: true, prompts: true },
      wantsResource: (uri) => this.#subscriptions.has(uri),
      tell: (notification) => this.#write(notificationMessage(notification)),
    })
  }

  #notified({ method, params }: Extract<Incoming, { kind: 'notification' }>): void {
    if (method === 'notifications/initialized') this.#tellChanges()
    const id = isJsonObject(params) ? params.requestId : undefined
    if (method !== 'notifications/cancelled' || (typeof id !== 'string' && typeof id !== 'number')) return
    this.#inFlight.get(id)?.cancel('the client cancelled it')
  }

  #write(message: WireMessage): void {
    const { stream } = this.#options
    if (stream.destroyed || stream.writableEnded) return
    stream.cork()
    for (const piece of message) stream.write(piece)
    stream.write('\n')
    stream.uncork()
    if (stream.writableLength > BACKLOG_MOST) return void stream.destroy()
    if (stream.writableLength < BACKLOG_LIMIT || stream.isPaused()) return
    stream.pause()
    stream.once('drain', () => stream.resume())
  }
}

const tooLarge = (limit: number): SallyportError =>
  new SallyportError('BODY_TOO_LARGE', `The message is larger than ${limit} bytes.`, {
    hint: 'Send less, or raise gateway.max_body in config.yaml.',
  })

const duplicate = (id: string | number): SallyportError =>
  new SallyportError('INVALID_REQUEST', `The id ${JSON.stringify(id)} is in use by a request under way.`)
