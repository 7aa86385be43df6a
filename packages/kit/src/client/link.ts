import type {
  Client,
  ElicitResult,
  JSONRPCMessage,
  Transport,
  TransportSendOptions,
} from '@modelcontextprotocol/client'
import { isJsonObject, type JsonObject } from '@sallyport/core'
import type { Form, FormAnswer, FormAnswerer } from '../form.ts'
import { CallTimer, type OperationOptions, type Progress } from './call-timer.ts'
import { type ClientTransport, createClientTransport } from './client-transport.ts'
import { type Endpoint, endpointName } from './endpoint.ts'
import { ANSWER_LOST, SendRefusedError, timeoutError, toLinkError } from './link-error.ts'

/** How a client opens and how it agrees on an era. A process is asked for the older one: some end when they are probed. */
export type EraChoice = 'auto' | 'legacy' | 'modern'

export interface LinkOptions {
  readonly clientInfo: { readonly name: string; readonly version: string }
  readonly era: EraChoice
  readonly timeoutMs: number
  readonly onElicit?: FormAnswerer | undefined
  /** Hears every message before anybody acts on it, also answers that nobody waits for any more. */
  readonly onMessage: (message: unknown) => void
  /** Asked immediately before each request leaves. */
  readonly maySend: () => boolean
}

/** What a caller says about an operation, and the end of the run that it belongs to. */
interface LinkRunOptions extends OperationOptions {
  readonly runSignal: AbortSignal
}

/** What one operation hands to the SDK. */
export interface SdkCallOptions {
  readonly options: { readonly signal: AbortSignal; readonly timeout: number }
  readonly meta: { readonly progressToken: string }
}

/** The longest that a timer can run: the clock of each operation ends it long before. */
const NO_TIMEOUT = 2 ** 31 - 1
const SESSION_END_TIMEOUT_MS = 1_000
const MODERN_MODE = { pin: '2026-07-28' }

export async function openLink(endpoint: Endpoint, options: LinkOptions): Promise<Link> {
  const { Client } = await import('@modelcontextprotocol/client')
  const mode = options.era === 'modern' ? MODERN_MODE : options.era
  // A process that does not answer the probe is asked for the handshake afterwards, and needs time for it.
  const share = 'command' in endpoint ? 2 : 1
  const probe = { timeoutMs: Math.ceil(Math.min(options.timeoutMs, NO_TIMEOUT) / share) }
  const { onElicit } = options
  const capabilities = onElicit === undefined ? {} : { elicitation: { form: {} } }
  const client = new Client(options.clientInfo, { capabilities, versionNegotiation: { mode, probe } })
  const link = new Link({ client, endpoint, options })
  if (onElicit !== undefined)
    client.setRequestHandler(
      'elicitation/create',
      async ({ params }) => (await link.answerForm(params as unknown as Form, onElicit)) as ElicitResult,
    )
  await link.connect()
  return link
}

interface UpdateListener {
  readonly uri: string
  readonly onUpdate: () => void
}

interface LinkParts {
  readonly client: Client
  readonly endpoint: Endpoint
  readonly options: LinkOptions
}

/** One connection to one server. */
export class Link {
  readonly peer: string
  readonly #client: Client
  readonly #endpoint: Endpoint
  readonly #options: LinkOptions
  /** Of the operations that are under way. */
  readonly #timers = new Set<CallTimer>()
  #questions = 0
  readonly #progress = new Map<string, (progress: Progress) => void>()
  /** The requests that wait for an answer, by id. */
  readonly #pendingRequests = new Set<unknown>()
  readonly #listeners = new Set<UpdateListener>()
  /** The messages that were heard. */
  readonly #seenMessages = new WeakSet<object>()
  #transport: ClientTransport | undefined
  #lastToken = 0
  #isGone = false

  constructor({ client, endpoint, options }: LinkParts) {
    this.#client = client
    this.#endpoint = endpoint
    this.#options = options
    this.peer = endpointName(endpoint)
  }

  get era(): 'legacy' | 'modern' {
    return this.#client.getProtocolEra() === 'modern' ? 'modern' : 'legacy'
  }

  async connect(): Promise<void> {
    const carrier = await createClientTransport(this.#endpoint, (body) => this.#assertMaySendBody(body))
    this.#transport = carrier
    this.#intercept(carrier.transport)
    const { timeoutMs } = this.#options
    const clock = new CallTimer(timeoutMs, [])
    try {
      const opened = this.#client.connect(carrier.transport, { signal: clock.signal, timeout: NO_TIMEOUT })
      // The SDK does not look at the signal while it finds out the era.
      await Promise.race([opened, clock.rejectOnAbort()])
    } catch (error) {
      await this.close()
      throw clock.isTimedOut ? timeoutError(this.peer, timeoutMs) : this.#toError(error)
    } finally {
      clock.stop()
    }
    this.#client.onclose = () => {
      this.#isGone = true
    }
  }

  /** Does one operation with the SDK, within its time, and tells its failure in our words. */
  async run<T>(
    operation: (client: Client, request: SdkCallOptions) => Promise<T>,
    { signal, runSignal, timeoutMs = this.#options.timeoutMs, onProgress }: LinkRunOptions,
  ): Promise<T> {
    const clock = this.#startTimer(timeoutMs, signal === undefined ? [runSignal] : [runSignal, signal])
    const progressToken = `p${++this.#lastToken}`
    this.#progress.set(progressToken, (progress) => {
      clock.extend()
      // What the caller's own code throws is no fault of the message, and must not keep it from the SDK.
      queueMicrotask(() => onProgress?.(progress))
    })
    try {
      const options = { signal: clock.signal, timeout: NO_TIMEOUT }
      return await operation(this.#client, { options, meta: { progressToken } })
    } catch (error) {
      if (clock.abortedBy !== undefined) throw clock.abortedBy.reason
      throw clock.isTimedOut ? timeoutError(this.peer, timeoutMs) : this.#toError(error)
    } finally {
      this.#progress.delete(progressToken)
      this.#timers.delete(clock)
      clock.stop()
    }
  }

  /** Asks the person on this side. What the normal instance has asked is not answered once it is left. */
  async answerForm(form: Form, ask: FormAnswerer): Promise<FormAnswer> {
    this.#questions++
    for (const clock of this.#timers) clock.pause()
    try {
      const answer: FormAnswer = this.#options.maySend() ? await ask(form) : { action: 'cancel' }
      return this.#options.maySend() ? answer : { action: 'cancel' }
    } finally {
      if (--this.#questions === 0) for (const clock of this.#timers) clock.resume()
    }
  }

  #startTimer(timeoutMs: number, callers: readonly AbortSignal[]): CallTimer {
    const clock = new CallTimer(timeoutMs, callers)
    this.#timers.add(clock)
    if (this.#questions > 0) clock.pause()
    return clock
  }

  /** In the modern era a stream of its own; in the legacy one a request, and another to end it. */
  async subscribe(uri: string, onUpdate: () => void, use: LinkRunOptions): Promise<{ close(): Promise<void> }> {
    const listener: UpdateListener = { uri, onUpdate }
    this.#listeners.add(listener)
    try {
      const end = await this.run(async (client, { options }) => {
        if (this.era === 'modern') return client.listen({ resourceSubscriptions: [uri] }, options)
        await client.subscribeResource({ uri }, options)
        return { close: () => this.run((_, own) => client.unsubscribeResource({ uri }, own.options), use) }
      }, use)
      return {
        close: async () => {
          this.#listeners.delete(listener)
          await end.close()
        },
      }
    } catch (error) {
      this.#listeners.delete(listener)
      throw error
    }
  }

  async close(): Promise<void> {
    await this.#endSession()
    await this.#client.close()
    await this.#transport?.transport.close()
  }

  /** A server that is gone, or silent, or does not end sessions, must not keep the client open. */
  async #endSession(): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    const patience = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, SESSION_END_TIMEOUT_MS)
    })
    await Promise.race([patience, this.#transport?.endSession().catch(() => {})])
    clearTimeout(timer)
  }

  /** A text of the server, safe to be told. */
  redact(text: string): string {
    return this.#transport?.redact(text) ?? text
  }

  /** Set before the SDK: it drops progress that comes in one read with the answer (typescript-sdk#2580). */
  #intercept(transport: Transport): void {
    const send = transport.send.bind(transport)
    transport.send = async (message, options) => {
      this.#assertMaySend(message)
      await send(message, this.#watchStream(message, transport, options))
    }
    this.#interceptMessages(transport)
  }

  /** Whoever listens, and the SDK's probe for the era listens in its own way, we hear each message first, and once. */
  #interceptMessages(transport: Transport): void {
    let listener: Transport['onmessage']
    Object.defineProperty(transport, 'onmessage', {
      configurable: true,
      get: (): Transport['onmessage'] => {
        const told = listener
        if (told === undefined) return undefined
        return (message, extra) => {
          this.#handleMessage(message)
          told(message, extra)
        }
      },
      set: (next: Transport['onmessage']) => {
        listener = next
      },
    })
  }

  #handleMessage(message: unknown): void {
    if (!isJsonObject(message) || this.#seenMessages.has(message)) return
    this.#seenMessages.add(message)
    this.#options.onMessage(message)
    if (message.method === undefined) this.#pendingRequests.delete(message.id)
    if (!isJsonObject(message.params)) return
    if (message.method === 'notifications/resources/updated') this.#notifyListeners(message.params.uri)
    if (message.method === 'notifications/progress') this.#reportProgress(message.params)
  }

  #notifyListeners(uri: unknown): void {
    for (const listener of this.#listeners) if (listener.uri === uri) queueMicrotask(listener.onUpdate)
  }

  #reportProgress({ progressToken, progress, total, message: words }: JsonObject): void {
    if (typeof progressToken !== 'string' || typeof progress !== 'number') return
    this.#progress.get(progressToken)?.({
      progress,
      ...(typeof total === 'number' && { total }),
      ...(typeof words === 'string' && { message: words }),
    })
  }

  /** An answer that is lost with its stream is answered here: the SDK would wait for it until the time is up. */
  #watchStream(message: JSONRPCMessage, transport: Transport, options?: TransportSendOptions): TransportSendOptions {
    if (!('method' in message && 'id' in message)) {
      if ('params' in message) this.#pendingRequests.delete(message.params?.requestId)
      return options ?? {}
    }
    const { id } = message
    this.#pendingRequests.add(id)
    options?.requestSignal?.addEventListener('abort', () => this.#pendingRequests.delete(id), { once: true })
    const ended = (): void => {
      options?.onRequestStreamEnd?.()
      const error = { code: ANSWER_LOST, message: 'the stream ended before the answer' }
      if (this.#pendingRequests.delete(id)) transport.onmessage?.({ jsonrpc: '2.0', id, error })
    }
    return { ...options, onRequestStreamEnd: ended }
  }

  #assertMaySend(message: object): void {
    if ('method' in message && 'id' in message && !this.#options.maySend())
      throw new SendRefusedError('No request may leave on this connection any more')
  }

  #assertMaySendBody(body: unknown): void {
    if (typeof body === 'string' && !this.#options.maySend()) this.#assertMaySend(JSON.parse(body))
  }

  #toError(error: unknown): Error {
    return toLinkError(error, {
      peer: this.peer,
      redact: (text) => this.redact(text),
      isGone: this.#isGone,
    })
  }
}
