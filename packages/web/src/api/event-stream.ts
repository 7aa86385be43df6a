import type { EventView } from '../../../gateway/src/serve/api/api.ts'

const STREAM_URL = '/api/events/follow'
const SHARED_NAME = 'sallyport-events'
const RETRY_MS = 2_000
/** Events reach listeners in batches: at a thousand calls a second a page that renders each one would freeze. */
const BATCH_MS = 100
/** A batch that no tab could render anyway: what is left out is in the log. */
const MAX_BATCH = 5_000

/** `live` again after `lost` means that events are missing: whatever was shown has to be read again. */
export type StreamState = 'connecting' | 'live' | 'lost'

type Message =
  | { readonly kind: 'events'; readonly events: readonly EventView[] }
  | { readonly kind: 'state'; readonly state: StreamState }
  | { readonly kind: 'hello' }

type EventsListener = (events: readonly EventView[]) => void

/**
 * The one stream of events of all tabs. A browser opens at most six connections to an address, and a stream keeps one
 * busy: so one tab holds the stream and passes the events on, and another takes over when it is closed.
 */
class EventStream {
  readonly #listeners = new Set<EventsListener>()
  readonly #stateListeners = new Set<() => void>()
  readonly #channel = 'BroadcastChannel' in globalThis ? new BroadcastChannel(SHARED_NAME) : undefined
  #state: StreamState = 'connecting'
  #isOwner = false
  #batch: EventView[] = []

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

  onEvents(listener: EventsListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  onState(listener: () => void): () => void {
    this.#stateListeners.add(listener)
    return () => this.#stateListeners.delete(listener)
  }

  #receive(message: Message): void {
    if (message.kind === 'hello') {
      if (this.#isOwner) this.#channel?.postMessage({ kind: 'state', state: this.#state } satisfies Message)
    } else if (message.kind === 'state') this.#setState(message.state)
    else for (const listener of this.#listeners) listener(message.events)
  }

  #own(): void {
    this.#isOwner = true
    this.#connect()
  }

  #connect(): void {
    const source = new EventSource(STREAM_URL)
    const reconnect = (): void => {
      source.close()
      this.#publish({ kind: 'state', state: 'lost' })
      setTimeout(() => this.#connect(), RETRY_MS)
    }
    source.addEventListener('open', () => this.#publish({ kind: 'state', state: 'live' }))
    source.addEventListener('message', ({ data }) => this.#queue(JSON.parse(data) as EventView))
    source.addEventListener('error', reconnect)
    // The gateway ends the stream of a reader that is too slow.
    source.addEventListener('overrun', reconnect)
  }

  #queue(event: EventView): void {
    if (this.#batch.length === 0) setTimeout(() => this.#flush(), BATCH_MS)
    this.#batch.push(event)
  }

  #flush(): void {
    const events = this.#batch.slice(-MAX_BATCH)
    this.#batch = []
    this.#publish({ kind: 'events', events })
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

export const eventStream = new EventStream()
