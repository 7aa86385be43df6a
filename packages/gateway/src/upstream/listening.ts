import { isJsonObject, type JsonObject, SallyportError } from '@sallyport/core'
import { type ChangeSource, GRANTED } from './change-source.ts'
import { type Opening, refusalOf } from './handshake.ts'
import type { Link } from './link.ts'
import { type ListenEnd, ListenStream, subscriptionIdOf } from './listen-stream.ts'
import type { Frame } from './transport.ts'

export interface ListeningOptions {
  readonly link: Link
  readonly opening: Pick<Opening, 'capabilities'>
  /** How long the server may take to acknowledge, in milliseconds. */
  readonly patience: number
  readonly onTrouble: (text: string) => void
  /** The server does not tell of these any more. */
  readonly onDropped: (uris: readonly string[]) => void
}

interface Waiter {
  readonly resolve: (frame: Frame) => void
  readonly reject: (error: unknown) => void
}

const FAMILIES: readonly (readonly [capability: string, filter: string])[] = [
  ['tools', 'toolsListChanged'],
  ['prompts', 'promptsListChanged'],
  ['resources', 'resourcesListChanged'],
]

/** What is asked for in quick succession goes into one request, in milliseconds. */
const GATHER = 20
const REOPEN_FIRST = 1_000
const REOPEN_LAST = 60_000

/**
 * The modern era: one `subscriptions/listen` request for changed lists and all resources together. What it asks for is
 * fixed, so that a changed wish needs another one; the former stays until that is acknowledged, and nothing is missed.
 */
export class Listening implements ChangeSource {
  readonly atOnce = Number.POSITIVE_INFINITY
  readonly #options: ListeningOptions
  readonly #lists: JsonObject
  readonly #wanted = new Set<string>()
  readonly #waiters = new Map<string, Waiter>()
  #open: ListenStream | undefined
  /** Asked, and not acknowledged yet. */
  #next: ListenStream | undefined
  /** Since when the present request is acknowledged. */
  #acknowledgedAt: number | undefined
  #endings = 0
  #gatherTimer: NodeJS.Timeout | undefined
  #reopenTimer: NodeJS.Timeout | undefined
  #patienceTimer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(options: ListeningOptions) {
    this.#options = options
    const offered = FAMILIES.filter(([capability]) => options.opening.capabilities[capability] !== undefined)
    this.#lists = Object.fromEntries(offered.map(([, filter]) => [filter, true]))
    this.#soon()
  }

  ask(uri: string): Promise<Frame> {
    this.#wanted.add(uri)
    return new Promise((resolve, reject) => {
      this.#waiters.set(uri, { resolve, reject })
      this.#soon()
    })
  }

  async leave(uri: string): Promise<void> {
    this.#wanted.delete(uri)
    this.#soon()
  }

  consumes(notification: JsonObject): boolean {
    const { method, params } = notification
    const id = subscriptionIdOf(notification)
    if (method === 'notifications/resources/updated') return id !== undefined && !this.#streamOf(id)
    if (method === 'notifications/subscriptions/acknowledged') {
      if (this.#next?.owns(id)) this.#acknowledged(this.#next, isJsonObject(params) ? params.notifications : undefined)
      return true
    }
    return false
  }

  close(): void {
    this.#isClosed = true
    for (const timer of [this.#gatherTimer, this.#reopenTimer, this.#patienceTimer]) clearTimeout(timer)
    this.#settle([...this.#waiters.keys()], ({ reject }) =>
      reject(new SallyportError('UPSTREAM_DIED', 'The server went away before it answered.')),
    )
  }

  #streamOf(id: unknown): ListenStream | undefined {
    return [this.#open, this.#next].find((stream) => stream?.owns(id))
  }

  #soon(): void {
    if (this.#isClosed || this.#next) return
    this.#gatherTimer ??= setTimeout(() => this.#replace(), GATHER)
  }

  #replace(): void {
    clearTimeout(this.#reopenTimer)
    this.#gatherTimer = undefined
    const uris = new Set(this.#wanted)
    if (uris.size === 0 && Object.keys(this.#lists).length === 0) return this.#listenNoMore()
    if (this.#open && sameTexts(this.#open.granted ?? this.#open.uris, uris)) return this.#grant(uris)
    const { link, patience } = this.#options
    const stream = new ListenStream({ link, uris, filter: this.#lists, onEnd: (end) => this.#ended(stream, end) })
    this.#next = stream
    this.#patienceTimer = setTimeout(() => this.#unacknowledged(stream), patience)
    // Last: a server in this very process may answer before this returns.
    stream.open()
  }

  #listenNoMore(): void {
    this.#open?.cancel('nobody listens any more')
    this.#open = undefined
  }

  #acknowledged(stream: ListenStream, honoured: unknown): void {
    stream.acknowledge(honoured)
    const granted = stream.granted ?? new Set()
    this.#take(stream)
    const refused = [...stream.uris].filter((uri) => !granted.has(uri))
    this.#grant(granted)
    this.#giveUp(
      refused,
      new SallyportError('SUBSCRIPTION_REFUSED', 'The server does not tell of changes of this resource.', {
        hint: 'Read it again when it is needed.',
      }),
    )
    this.#changedMeanwhile(stream)
  }

  /** Some servers never say what they grant: of their lists they may tell all the same. */
  #unacknowledged(stream: ListenStream): void {
    this.#options.onTrouble('it did not acknowledge subscriptions/listen')
    const had = this.#open
    if (had) stream.cancel('it was not acknowledged')
    this.#take(had ?? stream)
    this.#giveUp(
      [...stream.uris].filter((uri) => !had?.granted?.has(uri)),
      new SallyportError('UPSTREAM_TIMEOUT', 'The server did not acknowledge the subscription in time.'),
    )
    this.#changedMeanwhile(stream)
  }

  /** From now on this is the one that we hear. */
  #take(stream: ListenStream): void {
    clearTimeout(this.#patienceTimer)
    this.#next = undefined
    this.#acknowledgedAt = performance.now()
    if (this.#open !== stream) this.#open?.cancel('another request took its place')
    this.#open = stream
  }

  #changedMeanwhile({ uris }: ListenStream): void {
    if (!sameTexts(this.#open?.granted ?? uris, this.#wanted)) this.#soon()
  }

  #ended(stream: ListenStream, end: ListenEnd): void {
    if (this.#isClosed) return
    const isRefusal = 'frame' in end && end.frame.envelope.error !== undefined
    if (isRefusal)
      this.#options.onTrouble(
        `${refusalOf(end.frame, 'subscriptions/listen').message} It is not asked again by itself.`,
      )
    if (stream === this.#next) this.#failed(stream, end)
    else if (stream === this.#open) this.#open = undefined
    if (this.#open || this.#next) return
    if (isRefusal || stream.hasNothing) this.#options.onDropped([...this.#wanted])
    else this.#reopenLater()
  }

  /** It ended before it was acknowledged: what only it asked for is not granted. */
  #failed(stream: ListenStream, end: ListenEnd): void {
    clearTimeout(this.#patienceTimer)
    this.#next = undefined
    const fresh = [...stream.uris].filter((uri) => this.#waiters.has(uri))
    if ('frame' in end && end.frame.envelope.error !== undefined) {
      for (const uri of fresh) this.#wanted.delete(uri)
      this.#settle(fresh, ({ resolve }) => resolve(end.frame))
    } else {
      const early = new SallyportError('UPSTREAM_PROTOCOL', 'The server ended subscriptions/listen unacknowledged.')
      this.#giveUp(fresh, 'error' in end ? end.error : early)
    }
    if (this.#waiters.size > 0) this.#soon()
  }

  #reopenLater(): void {
    const lasted = this.#acknowledgedAt === undefined ? 0 : performance.now() - this.#acknowledgedAt
    this.#acknowledgedAt = undefined
    if (lasted > REOPEN_LAST) this.#endings = 0
    const delay = Math.min(REOPEN_FIRST * 2 ** this.#endings++, REOPEN_LAST)
    clearTimeout(this.#reopenTimer)
    this.#reopenTimer = setTimeout(() => this.#soon(), delay)
  }

  #grant(uris: Iterable<string>): void {
    this.#settle(uris, ({ resolve }) => resolve(GRANTED))
  }

  #giveUp(uris: readonly string[], error: unknown): void {
    const dropped = uris.filter((uri) => this.#wanted.delete(uri) && !this.#waiters.has(uri))
    this.#settle(uris, ({ reject }) => reject(error))
    if (dropped.length === 0) return
    this.#options.onTrouble(`it no longer tells of ${dropped.length} subscribed resource(s)`)
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

function sameTexts(some: ReadonlySet<string>, others: ReadonlySet<string>): boolean {
  return some.size === others.size && [...some].every((text) => others.has(text))
}
