import { Cancellation, isJsonObject, type JsonObject, SallyportError } from '@sallyport/core'
import { FrameReader } from '../answers/frame-reader.ts'
import { type Permit, recheckPermit } from '../permit.ts'
import type { Frame } from '../transport.ts'
import { toProtocolError } from './handshake.ts'
import type { Link } from './link.ts'

export interface ListenRequestOptions {
  readonly link: Link
  /** The changed lists to report, as the filter names them. */
  readonly lists: JsonObject
  /** How long the server may take to acknowledge, in milliseconds. */
  readonly timeoutMs: number
  readonly onWarning: (text: string) => void
  /** The server no longer reports changes of these resources. */
  readonly onDropped: (uris: readonly string[]) => void
}

interface Waiter {
  /** Whether the server may be asked for it. */
  readonly permit: Permit | undefined
  readonly resolve: (frame: Frame) => void
  readonly reject: (error: unknown) => void
}

/** Subscriptions that follow each other within this time share one request, in milliseconds. */
const BATCH_MS = 20
const MIN_REOPEN_MS = 1_000
const MAX_REOPEN_MS = 60_000

/**
 * One `subscriptions/listen` request, opened again when it ends. Its filter is fixed, so another resource needs another
 * request: the previous one stays open until the next is acknowledged, so that no change is missed. A resource that
 * nobody wants any more stays in the filter, since a smaller one is not worth a request.
 */
export class ListenRequest {
  readonly #options: ListenRequestOptions
  readonly #wanted = new Set<string>()
  readonly #waiters = new Map<string, Waiter>()
  #open: ListenStream | undefined
  /** Sent, and not acknowledged yet. */
  #next: ListenStream | undefined
  /** When the present request was acknowledged. */
  #acknowledgedAt: number | undefined
  #endCount = 0
  #batchTimer: NodeJS.Timeout | undefined
  #reopenTimer: NodeJS.Timeout | undefined
  #acknowledgeTimer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(options: ListenRequestOptions) {
    this.#options = options
    if (this.#hasLists) this.#schedule()
  }

  /** Nothing was sent yet, so that another resource costs nothing. */
  get isCollecting(): boolean {
    return this.#batchTimer !== undefined && !this.#open
  }

  /** It has no resource that somebody wants. */
  get isUnused(): boolean {
    return this.#wanted.size === 0
  }

  /** Whether the server reports this resource, or is asked to. */
  covers(uri: string): boolean {
    return this.#wanted.has(uri) || (this.#open?.granted?.has(uri) ?? false)
  }

  get #hasLists(): boolean {
    return Object.keys(this.#options.lists).length > 0
  }

  subscribe(uri: string, permit?: Permit): Promise<Frame> {
    this.#wanted.add(uri)
    return new Promise((resolve, reject) => {
      this.#waiters.set(uri, { permit, resolve, reject })
      this.#schedule()
    })
  }

  async unsubscribe(uri: string): Promise<void> {
    this.#wanted.delete(uri)
    this.#schedule()
  }

  /** Whether a notification with this subscription id belongs to it. */
  owns(id: unknown): boolean {
    return [this.#open, this.#next].some((stream) => stream?.owns(id))
  }

  acknowledged(id: unknown, honoured: unknown): void {
    if (this.#next?.owns(id)) this.#onAcknowledged(this.#next, honoured)
  }

  /** Sends what is collected at once. */
  flush(): void {
    if (this.#batchTimer === undefined) return
    clearTimeout(this.#batchTimer)
    this.#replace()
  }

  /** Ends it at the server, too. */
  stop(): void {
    this.close()
    this.#stopListening()
    this.#next?.cancel('nobody listens any more')
  }

  close(): void {
    this.#isClosed = true
    for (const timer of [this.#batchTimer, this.#reopenTimer, this.#acknowledgeTimer]) clearTimeout(timer)
    this.#settle([...this.#waiters.keys()], ({ reject }) =>
      reject(new SallyportError('UPSTREAM_DIED', 'The server went away before it answered.')),
    )
  }

  #schedule(): void {
    if (this.#isClosed || this.#next) return
    this.#batchTimer ??= setTimeout(() => this.#replace(), BATCH_MS)
  }

  #replace(): void {
    clearTimeout(this.#reopenTimer)
    this.#batchTimer = undefined
    const uris = new Set(this.#wanted)
    if (uris.size === 0 && !this.#hasLists) return this.#stopListening()
    if (this.#open && hasAll(this.#open.granted ?? this.#open.uris, uris)) return this.#grant(uris)
    const { link, timeoutMs } = this.#options
    const stream = new ListenStream({
      link,
      uris,
      filter: this.#options.lists,
      permit: this.#permitFor(uris),
      onEnd: (end) => this.#onEnded(stream, end),
    })
    this.#next = stream
    this.#acknowledgeTimer = setTimeout(() => this.#onAcknowledgeTimeout(stream), timeoutMs)
    // Last: a server in this process may answer before this returns.
    stream.open()
  }

  /** Valid as long as each new resource may be asked for. Those that the server knows need no permit. */
  #permitFor(uris: ReadonlySet<string>): Permit {
    const fresh = [...uris].flatMap((uri) => this.#waiters.get(uri)?.permit ?? [])
    return {
      get isCurrent() {
        return fresh.every((permit) => permit.isCurrent)
      },
      onSent: () => {
        for (const permit of fresh) permit.onSent?.()
      },
      renew: async () => {
        for (const permit of fresh) {
          const refusal = await recheckPermit(permit)
          if (refusal) return refusal
        }
        return undefined
      },
    }
  }

  #stopListening(): void {
    this.#open?.cancel('nobody listens any more')
    this.#open = undefined
  }

  #onAcknowledged(stream: ListenStream, honoured: unknown): void {
    stream.acknowledge(honoured)
    const granted = stream.granted ?? new Set()
    this.#activate(stream)
    const refused = [...stream.uris].filter((uri) => !granted.has(uri))
    this.#grant(granted)
    this.#giveUp(
      refused,
      new SallyportError('SUBSCRIPTION_REFUSED', 'The server does not report changes of this resource.', {
        hint: 'Read it again when it is needed.',
      }),
    )
    this.#checkWanted(stream)
  }

  /** Some servers never acknowledge; they may still report changes of their lists. */
  #onAcknowledgeTimeout(stream: ListenStream): void {
    this.#options.onWarning('it did not acknowledge subscriptions/listen')
    const had = this.#open
    const isUseless = had !== undefined || !this.#hasLists
    if (isUseless) stream.cancel('it was not acknowledged')
    this.#activate(isUseless ? had : stream)
    this.#giveUp(
      [...stream.uris].filter((uri) => !had?.granted?.has(uri)),
      new SallyportError('UPSTREAM_TIMEOUT', 'The server did not acknowledge the subscription in time.'),
    )
    this.#checkWanted(stream)
  }

  /** From now on this request is the current one. */
  #activate(stream: ListenStream | undefined): void {
    clearTimeout(this.#acknowledgeTimer)
    this.#next = undefined
    this.#acknowledgedAt = performance.now()
    if (this.#open !== stream) this.#open?.cancel('another request took its place')
    this.#open = stream
  }

  #checkWanted({ uris }: ListenStream): void {
    if (!hasAll(this.#open?.granted ?? uris, this.#wanted)) this.#schedule()
  }

  #onEnded(stream: ListenStream, end: ListenEnd): void {
    if (this.#isClosed) return
    const isRefusal = 'frame' in end && end.frame.envelope.error !== undefined
    if (isRefusal)
      this.#options.onWarning(
        `${toProtocolError(end.frame, 'subscriptions/listen').message} It is not asked again automatically.`,
      )
    if (stream === this.#next) this.#onFailed(stream, end)
    else if (stream === this.#open) this.#open = undefined
    if (this.#open || this.#next) return
    if (isRefusal || stream.grantedNothing) this.#options.onDropped([...this.#wanted])
    else this.#reopenLater()
  }

  /** It ended before it was acknowledged: the resources that only it asked for are not granted. */
  #onFailed(stream: ListenStream, end: ListenEnd): void {
    clearTimeout(this.#acknowledgeTimer)
    this.#next = undefined
    const fresh = [...stream.uris].filter((uri) => this.#waiters.has(uri))
    if ('frame' in end && end.frame.envelope.error !== undefined) {
      for (const uri of fresh) this.#wanted.delete(uri)
      this.#settle(fresh, ({ resolve }) => resolve(end.frame))
    } else if ('error' in end && fresh.some((uri) => !this.#mayAskFor(uri))) {
      // Only these were refused. The request is made again without them.
      for (const uri of fresh.filter((each) => !this.#mayAskFor(each))) {
        this.#wanted.delete(uri)
        this.#settle([uri], ({ reject }) => reject(end.error))
      }
    } else {
      const early = new SallyportError('UPSTREAM_PROTOCOL', 'The server ended subscriptions/listen unacknowledged.')
      this.#giveUp(fresh, 'error' in end ? end.error : early)
    }
    if (this.#waiters.size > 0) this.#schedule()
  }

  #mayAskFor(uri: string): boolean {
    return this.#waiters.get(uri)?.permit?.isCurrent !== false
  }

  #reopenLater(): void {
    const lasted = this.#acknowledgedAt === undefined ? 0 : performance.now() - this.#acknowledgedAt
    this.#acknowledgedAt = undefined
    if (lasted > MAX_REOPEN_MS) this.#endCount = 0
    const delay = Math.min(MIN_REOPEN_MS * 2 ** this.#endCount++, MAX_REOPEN_MS)
    clearTimeout(this.#reopenTimer)
    this.#reopenTimer = setTimeout(() => this.#schedule(), delay)
  }

  #grant(uris: Iterable<string>): void {
    this.#settle(uris, ({ resolve }) => resolve(SUBSCRIBED))
  }

  #giveUp(uris: readonly string[], error: unknown): void {
    const dropped = uris.filter((uri) => this.#wanted.delete(uri) && !this.#waiters.has(uri))
    this.#settle(uris, ({ reject }) => reject(error))
    if (dropped.length === 0) return
    this.#options.onWarning(`it no longer reports changes of ${dropped.length} subscribed resource(s)`)
    this.#options.onDropped(dropped)
  }

  #settle(uris: Iterable<string>, outcome: (waiter: Waiter) => void): void {
    for (const uri of uris) {
      const waiter = this.#waiters.get(uri)
      this.#waiters.delete(uri)
      if (waiter) outcome(waiter)
    }
  }
}

function hasAll(some: ReadonlySet<string>, others: ReadonlySet<string>): boolean {
  return [...others].every((text) => some.has(text))
}

/** How a listening request ended: the server answered it, or it can no longer be answered. */
type ListenEnd = { readonly frame: Frame } | { readonly error: unknown }

interface ListenStreamOptions {
  readonly link: Link
  readonly filter: JsonObject
  readonly uris: ReadonlySet<string>
  readonly permit: Permit
  /** Called once, unless we ended it ourselves. */
  readonly onEnd: (end: ListenEnd) => void
}

/** The longest time that a Node timer can wait: a listening request ends only with its connection. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** One `subscriptions/listen` request. Its filter is fixed; the server's acknowledgement says what was granted. */
class ListenStream {
  readonly uris: ReadonlySet<string>
  readonly #options: ListenStreamOptions
  readonly #cancellation = new Cancellation()
  #id: number | undefined
  #granted: ReadonlySet<string> | undefined
  #grantedNothing = false

  constructor(options: ListenStreamOptions) {
    this.uris = options.uris
    this.#options = options
  }

  open(): void {
    const { link, filter, uris, permit, onEnd } = this.#options
    const notifications = { ...filter, ...(uris.size > 0 && { resourceSubscriptions: [...uris] }) }
    const ended = (end: ListenEnd): void => {
      if (this.#cancellation.reason === undefined) onEnd(end)
    }
    const request = {
      method: 'subscriptions/listen',
      params: { notifications },
      permit,
      cancellation: this.#cancellation,
      onSent: (id: number) => {
        this.#id = id
      },
    }
    link.call(request, { timeout: MAX_TIMER_MS, maximum: MAX_TIMER_MS }).then(
      ({ frame }) => ended({ frame }),
      (error: unknown) => ended({ error }),
    )
  }

  /** `undefined` before the acknowledgement. */
  get granted(): ReadonlySet<string> | undefined {
    return this.#granted
  }

  /** The server granted nothing: it ends the request at once, and would do so again. */
  get grantedNothing(): boolean {
    return this.#grantedNothing
  }

  owns(id: unknown): boolean {
    return id !== undefined && id === this.#id
  }

  /** Grants beyond what was asked for are ignored. */
  acknowledge(honoured: unknown): void {
    const filter = isJsonObject(honoured) ? honoured : {}
    const uris: readonly unknown[] = Array.isArray(filter.resourceSubscriptions) ? filter.resourceSubscriptions : []
    this.#grantedNothing = Object.values(filter).every(
      (part) => part === false || (Array.isArray(part) && part.length === 0),
    )
    this.#granted = new Set(uris.filter((uri): uri is string => typeof uri === 'string' && this.uris.has(uri)))
  }

  cancel(reason: string): void {
    this.#cancellation.cancel(reason)
  }
}

/** The answer for a client that subscribes to a resource whose changes the server already reports. */
export const SUBSCRIBED: Frame = createFrame('{"jsonrpc":"2.0","id":0,"result":{}}')

function createFrame(text: string): Frame {
  const reader = new FrameReader(text.length)
  reader.feed(Buffer.from(text))
  const outcome = reader.finish()
  if (outcome.kind !== 'frame') throw new TypeError(`An answer of our own is ${outcome.kind}.`)
  return outcome.frame
}
