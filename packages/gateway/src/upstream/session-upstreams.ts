import type { ServerConfig } from '../config/config.ts'
import type { Upstream, UpstreamListener, UpstreamReply, UpstreamRequest } from './server-behind.ts'
import type { UpstreamStatus } from './upstream-status.ts'

export interface SessionUpstreamsOptions {
  readonly config: ServerConfig
  /** Opens one more process; `listener` hears of it. */
  readonly openOne: (config: ServerConfig, listener: UpstreamListener) => Upstream
  readonly listener: UpstreamListener
}

/** A session's own process rests after this, unless the entry says otherwise. */
const DEFAULT_IDLE = 600_000

/** A server that sessions must not share: one process for each, and a first one that only tells what there is. */
export class SessionUpstreams implements Upstream {
  readonly config: ServerConfig
  readonly #options: SessionUpstreamsOptions
  readonly #scout: Upstream
  readonly #bySession = new Map<string, Upstream>()

  constructor(options: SessionUpstreamsOptions) {
    this.#options = options
    this.config = options.config
    this.#scout = options.openOne(resting(options.config), options.listener)
  }

  status(): UpstreamStatus {
    return this.#scout.status()
  }

  start(): void {
    this.#scout.start()
  }

  request(request: UpstreamRequest): Promise<UpstreamReply> {
    return this.#of(request.session).request(request)
  }

  async close(): Promise<void> {
    await Promise.all([this.#scout, ...this.#bySession.values()].map((upstream) => upstream.close()))
  }

  #of(session: string): Upstream {
    const known = this.#bySession.get(session)
    if (known) return known
    const opened = this.#options.openOne(resting(this.config), { ...this.#options.listener, onCatalogue: () => {} })
    this.#bySession.set(session, opened)
    return opened
  }
}

function resting(config: ServerConfig): ServerConfig {
  return { ...config, timeouts: { ...config.timeouts, idle: config.timeouts.idle ?? DEFAULT_IDLE } }
}
