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

/** How a client connects and negotiates the era. Processes get the legacy handshake, because some exit when probed. */
export type EraChoice = 'auto' | 'legacy' | 'modern'

export interface LinkOptions {
  readonly clientInfo: { readonly name: string; readonly version: string }
  readonly era: EraChoice
  readonly timeoutMs: number
  readonly onElicit?: FormAnswerer | undefined
  /** Called with every message before it is handled, including late answers that nobody waits for any more. */
  readonly onMessage: (message: unknown) => void
  /** Called immediately before each request is sent. */
  readonly maySend: () => boolean
}

/** The caller's options for an operation, and the signal that ends its run. */
interface LinkRunOptions extends OperationOptions {
  readonly runSignal: AbortSignal
}

/** The request options that one operation passes to the SDK. */
export interface SdkCallOptions {
  readonly options: { readonly signal: AbortSignal; readonly timeout: number }
  readonly meta: { readonly progressToken: string }
}

/** The longest delay of a timer. The timer of each operation ends it long before. */
const NO_TIMEOUT = 2 ** 31 - 1
const SESSION_END_TIMEOUT_MS = 1_000
const MODERN_MODE = { pin: '2026-07-28' }

export async function openLink(endpoint: Endpoint, options: LinkOptions): Promise<Link> {
  const { Client } = await import('@modelcontextprotocol/client')
  const mode = options.era === 'modern' ? MODERN_MODE : options.era
  // A process that does not answer the probe then gets the legacy handshake, and needs time for it.
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
  /** The timers of the operations in flight. */
  readonly #timers = new Set<CallTimer>()
  #questions = 0
  readonly #progress = new Map<string, (progress: Progress) => void>()
  /** The requests that wait for an answer, by id. */
  readonly #pendingRequests = new Set<unknown>()
  readonly #listeners = new Set<UpdateListener>()
  /** The messages that were already observed. */
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
      // The SDK ignores the signal while it detects the era.
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

  /** Runs one operation of the SDK within its timeout, and converts its failure to a SallyportError. */
  async run<T>(
    operation: (client: Client, request: SdkCallOptions) => Promise<T>,
    { signal, runSignal, timeoutMs = this.#options.timeoutMs, onProgress }: LinkRunOptions,
  ): Promise<T> {
    const clock = this.#startTimer(timeoutMs, signal === undefined ? [runSignal] : [runSignal, signal])
    const progressToken = `p${++this.#lastToken}`
    this.#progress.set(progressToken, (progress) => {
      clock.extend()
      // If the caller's own code throws, the message must still reach the SDK.
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

  /** Asks the user of this client. Questions of the normal instance are not answered once the session left it. */
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

  /** The modern era uses a stream of its own. The legacy era uses one request to subscribe and one to unsubscribe. */
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

  /** A server that is gone, silent or unable to end sessions must not keep the client open. */
  async #endSession(): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    const timeout = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, SESSION_END_TIMEOUT_MS)
    })
    await Promise.race([timeout, this.#transport?.endSession().catch(() => {})])
    clearTimeout(timer)
  }

  /** Removes secrets from a server's text, so that it can be shown. */
  redact(text: string): string {
    return this.#transport?.redact(text) ?? text
  }

  /** Runs before the SDK, which drops progress that arrives in one read with the answer (typescript-sdk#2580). */
  #intercept(transport: Transport): void {
    const send = transport.send.bind(transport)
    transport.send = async (message, options) => {
      this.#assertMaySend(message)
      await send(message, this.#watchStream(message, transport, options))
    }
    this.#interceptMessages(transport)
  }

  /** We see each message first and once, whoever else listens: the SDK's probe for the era has a listener of its own. */
  #interceptMessages(transport: Transport): void {
    let listener: Transport['onmessage']
    Object.defineProperty(transport, 'onmessage', {
      configurable: true,
      get: (): Transport['onmessage'] => {
        const current = listener
        if (current === undefined) return undefined
        return (message, extra) => {
          this.#handleMessage(message)
          current(message, extra)
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

  #reportProgress({ progressToken, progress, total, message: text }: JsonObject): void {
    if (typeof progressToken !== 'string' || typeof progress !== 'number') return
    this.#progress.get(progressToken)?.({
      progress,
      ...(typeof total === 'number' && { total }),
      ...(typeof text === 'string' && { message: text }),
    })
  }

  /** If an answer is lost with its stream, this answers in its place: the SDK would wait for it until the timeout. */
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
