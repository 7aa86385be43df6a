import type { EventView, LiveMessages } from '../../../gateway/src/serve/api/api.ts'
import { checkLogin } from './client.ts'

const STREAM_URL = '/api/stream'
const SHARED_NAME = 'sallyport-events'
const RETRY_MS = 2_000
/** `live` again after `lost` means that events are missing: whatever was shown has to be read again. */
export type StreamState = 'connecting' | 'live' | 'lost'

/** The mode, and what needs a person. */
export type LiveState = LiveMessages['state']

type Message =
  | { readonly kind: 'events'; readonly events: readonly EventView[]; readonly omitted: number }
  | { readonly kind: 'state'; readonly state: StreamState }
  | { readonly kind: 'live'; readonly live: LiveState }
  | { readonly kind: 'reset' }
  | { readonly kind: 'hello' }

export interface StreamListener {
  /** `omitted`: calls that are not among them, since there are too many. */
  readonly onEvents?: (events: readonly EventView[], omitted: number) => void
  readonly onLive?: (live: LiveState) => void
  /** Records were missed: whatever is shown has to be read again. */
  readonly onReset?: () => void
}

/**
 * The one stream of events of all tabs. A browser opens at most six connections to an address, and a stream keeps one
 * busy: so one tab holds the stream and passes the events on, and another takes over when it is closed.
 */
class EventStream {
  readonly #listeners = new Set<StreamListener>()
  readonly #stateListeners = new Set<() => void>()
  readonly #channel = 'BroadcastChannel' in globalThis ? new BroadcastChannel(SHARED_NAME) : undefined
  #state: StreamState = 'connecting'
  #isOwner = false
  #live: LiveState | undefined

  get state(): StreamState {
    return this.#state
  }

  start(): void {
    this.#channel?.addEventListener('message', ({ data }: MessageEvent<Message>) => this.#receive(data))
    // Locks exist only on loopback and over HTTPS; elsewhere each tab has its own stream.
    if (this.#channel === undefined || navigator.locks === undefined) return this.#own()
    this.#channel.postMessage({ kind: 'hello' } satisfies Message)
    void navigator.locks.request(SHARED_NAME, () => {
      this.#own()
      return new Promise(() => {})
    })
  }

  listen(listener: StreamListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  onState(listener: () => void): () => void {
    this.#stateListeners.add(listener)
    return () => this.#stateListeners.delete(listener)
  }

  #receive(message: Message): void {
    if (message.kind === 'hello') return this.#answerHello()
    if (message.kind === 'state') return this.#setState(message.state)
    if (message.kind === 'live') this.#live = message.live
    for (const listener of this.#listeners)
      if (message.kind === 'events') listener.onEvents?.(message.events, message.omitted)
      else if (message.kind === 'live') listener.onLive?.(message.live)
      else listener.onReset?.()
  }

  /** A new tab has missed the beginning. */
  #answerHello(): void {
    if (!this.#isOwner) return
    this.#channel?.postMessage({ kind: 'state', state: this.#state } satisfies Message)
    if (this.#live) this.#channel?.postMessage({ kind: 'live', live: this.#live } satisfies Message)
  }

  #own(): void {
    this.#isOwner = true
    this.#connect()
  }

  #connect(): void {
    const source = new EventSource(STREAM_URL)
    source.addEventListener('open', () => this.#publish({ kind: 'state', state: 'live' }))
    on(source, 'records', ({ records, omitted }) => {
      const calls = (omitted.TOOL_CALL_STARTED ?? 0) + (omitted.POLICY_DENIED ?? 0)
      this.#publish({ kind: 'events', events: records as readonly EventView[], omitted: calls })
    })
    on(source, 'state', (live) => this.#publish({ kind: 'live', live }))
    on(source, 'reset', () => this.#publish({ kind: 'reset' }))
    source.addEventListener('error', () => {
      this.#publish({ kind: 'state', state: 'lost' })
      // The browser resumes after a broken connection by itself, and gives up after a refusal.
      if (source.readyState === EventSource.CLOSED) void this.#reconnect()
    })
  }

  /** Any request shows whether the login has ended: then the page shows how to log in again. */
  async #reconnect(): Promise<void> {
    await checkLogin().catch(() => undefined)
    setTimeout(() => this.#connect(), RETRY_MS)
  }

  #publish(message: Message): void {
    this.#channel?.postMessage(message)
    this.#receive(message)
  }

  #setState(state: StreamState): void {
    if (state === this.#state) return
    this.#state = state
    for (const listener of this.#stateListeners) listener()
  }
}

function on<Name extends keyof LiveMessages>(
  source: EventSource,
  name: Name,
  listener: (data: LiveMessages[Name]) => void,
): void {
  source.addEventListener(name, ({ data }) => listener(JSON.parse(data) as LiveMessages[Name]))
}

export const eventStream = new EventStream()
