import { type Era, messageOf, type SallyportError } from '@sallyport/core'
import type { Link } from './link/link.ts'

/** What the last checks found. */
export interface Health {
  readonly isHealthy: boolean
  /** When this result was first found, and when it was last checked, in milliseconds since 1970. */
  readonly since: number
  readonly checkedAt: number
  /** Why it is not healthy. */
  readonly reason?: string | undefined
}

export interface HealthCheckOptions {
  /** The interval between two checks in milliseconds; `undefined`: there are no checks. */
  readonly intervalMs: number | undefined
  readonly now: () => number
  readonly onChange: (health: Health) => void
}

/** An idle server that needs longer for the cheapest request could not handle a call. */
const PROBE_TIMEOUT_MS = 10_000
/** The cheapest request of each era. An error is an answer too: the server is alive. */
const PROBE_METHODS: Readonly<Record<Era, string>> = { legacy: 'ping', modern: 'server/discover' }

/**
 * Asks an unused server from time to time whether it is still alive. A check does not count as use, so the server can
 * still become idle.
 */
export class HealthCheck {
  readonly #options: HealthCheckOptions
  #timer: NodeJS.Timeout | undefined
  #health: Health | undefined
  #isProbing = false

  constructor(options: HealthCheckOptions) {
    this.#options = options
  }

  get health(): Health | undefined {
    return this.#health
  }

  /** Call this for a new connection: a successful connect replaces earlier results. */
  start(link: Link, era: Era): void {
    const { intervalMs } = this.#options
    if (intervalMs === undefined) return
    this.stop()
    if (this.#health?.isHealthy === false) this.#update(undefined)
    this.#timer = setInterval(() => void this.#check(link, era), intervalMs)
    this.#timer.unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  async #check(link: Link, era: Era): Promise<void> {
    const { intervalMs = 0 } = this.#options
    if (this.#isProbing) return
    const timer = this.#timer
    // A recent call has shown more than a check would.
    if (link.idleFor < intervalMs && this.#health?.isHealthy !== false) return this.#update(undefined)
    const timeout = Math.min(intervalMs, PROBE_TIMEOUT_MS)
    const times = { timeout, maximum: timeout, isBackground: true }
    this.#isProbing = true
    const problem = await link.request({ method: PROBE_METHODS[era], params: {}, ...times }).then(
      () => undefined,
      (error: SallyportError) => messageOf(error),
    )
    this.#isProbing = false
    if (this.#timer === timer && link.closeReason === undefined) this.#update(problem)
  }

  #update(reason: string | undefined): void {
    const { now, onChange } = this.#options
    const before = this.#health
    const isHealthy = reason === undefined
    const isChange = before === undefined ? !isHealthy : before.isHealthy !== isHealthy
    const checkedAt = now()
    this.#health = { isHealthy, since: isChange || !before ? checkedAt : before.since, checkedAt, reason }
    if (isChange) onChange(this.#health)
  }
}
