import { SallyportError } from '@sallyport/core'
import type { ServerConfig } from '../config/config.ts'
import type { Upstream, UpstreamListener, UpstreamReply, UpstreamRequest } from './server-behind.ts'
import type { UpstreamStatus } from './upstream-status.ts'

export interface SessionUpstreamsOptions {
  readonly config: ServerConfig
  /** Opens one more process; `listener` hears of it. */
  readonly openOne: (config: ServerConfig, listener: UpstreamListener) => Upstream
  readonly listener: UpstreamListener
  /** So many sessions may have a process at the same time. */
  readonly most?: number
}

/** A session's own process rests after this, unless the entry says otherwise. */
const DEFAULT_IDLE = 600_000
const DEFAULT_MOST = 100
/** Of so many sessions' processes the status tells, and so many lines of each. */
const MOST_SHOWN = 10
const LINES_SHOWN = 10

interface Seat {
  readonly upstream: Upstream
  calls: number
}

/** A server that sessions must not share: one process for each, and a first one that only tells what there is. */
export class SessionUpstreams implements Upstream {
  readonly config: ServerConfig
  readonly #options: SessionUpstreamsOptions
  readonly #scout: Upstream
  /** The one that was used the longest time ago stands first. */
  readonly #seats = new Map<string, Seat>()
  readonly #leaving = new Set<Promise<void>>()
  #closed = false

  constructor(options: SessionUpstreamsOptions) {
    this.#options = options
    this.config = options.config
    this.#scout = options.openOne(resting(options.config), options.listener)
  }

  /** As the first process is, with what the latest of the others have to say. */
  status(): UpstreamStatus {
    const scout = this.#scout.status()
    const latest = [...this.#seats.values()].slice(-MOST_SHOWN).map(({ upstream }) => upstream.status())
    return {
      ...scout,
      messages: [...scout.messages, ...latest.flatMap(wordsOf)],
      sessions: { processes: this.#seats.size, pids: latest.flatMap(({ pid }) => pid ?? []) },
    }
  }

  start(): void {
    this.#scout.start()
  }

  async request(request: UpstreamRequest): Promise<UpstreamReply> {
    const seat = this.#seatOf(request.session)
    seat.calls++
    try {
      return await seat.upstream.request(request)
    } finally {
      seat.calls--
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    const upstreams = [this.#scout, ...[...this.#seats.values()].map(({ upstream }) => upstream)]
    await Promise.all([...upstreams.map((upstream) => upstream.close()), ...this.#leaving])
  }

  #seatOf(session: string): Seat {
    const { openOne, listener } = this.#options
    const known = this.#seats.get(session)
    if (!known) this.#makeRoom()
    const seat = known ?? {
      upstream: openOne(resting(this.config), { ...listener, onCatalogue: () => {} }),
      calls: 0,
    }
    this.#seats.delete(session)
    this.#seats.set(session, seat)
    return seat
  }

  /** A session that has nothing under way gets a new process when it comes back. */
  #makeRoom(): void {
    const { id } = this.config
    if (this.#closed) throw new SallyportError('UPSTREAM_UNAVAILABLE', `Server ${id} is closed.`)
    const { most = DEFAULT_MOST } = this.#options
    if (this.#seats.size < most) return
    const idle = [...this.#seats].find(([, { calls }]) => calls === 0)
    if (!idle)
      throw new SallyportError(
        'OVERLOADED',
        `${most} sessions have calls under way at server ${id}, which is the limit.`,
      )
    const [session, { upstream }] = idle
    this.#seats.delete(session)
    const gone = upstream.close().finally(() => this.#leaving.delete(gone))
    this.#leaving.add(gone)
  }
}

/** Sessions have no names here: who may see a server need not know who is using it. */
function wordsOf({ pid, state, reason, messages }: UpstreamStatus): readonly string[] {
  const who = `[session${pid === undefined ? '' : `, pid ${pid}`}]`
  const why = reason === undefined ? [] : [`${state}: ${reason}`]
  return [...messages.slice(-LINES_SHOWN), ...why].map((line) => `${who} ${line}`)
}

function resting(config: ServerConfig): ServerConfig {
  return { ...config, timeouts: { ...config.timeouts, idle: config.timeouts.idle ?? DEFAULT_IDLE } }
}
