import { formatDuration, type RuleSource, type ToolPolicy } from '@sallyport/core'

const MINUTE = 60_000

interface ToolUse {
  /** When the calls of the last minute began, oldest first. */
  started: number[]
  inFlight: number
}

interface LimitRefusal {
  readonly reason: string
  readonly rule: RuleSource | undefined
}

type Limited = Pick<ToolPolicy, 'rateLimitPerMinute' | 'maxConcurrent'>

const UNLIMITED: Limited = Object.freeze({ rateLimitPerMinute: undefined, maxConcurrent: undefined })

const isLimited = ({ rateLimitPerMinute, maxConcurrent }: Limited): boolean =>
  rateLimitPerMinute !== undefined || maxConcurrent !== undefined

/** Counts the recent calls of tools that have limits in their entries. */
export class ToolLimits {
  readonly #now: () => number
  readonly #uses = new Map<string, ToolUse>()

  constructor(now: () => number) {
    this.#now = now
  }

  /**
   * Why one more call is not allowed, and by which rule; `undefined` if it is allowed. A call that has already entered
   * does not count itself: `entered` are the limits with which it entered.
   */
  refusal(tool: string, limited: Limited, entered: Limited = UNLIMITED): LimitRefusal | undefined {
    if (!isLimited(limited)) return undefined
    const { rateLimitPerMinute: rate, maxConcurrent } = limited
    const use = this.#currentUse(tool)
    const own = isLimited(entered) ? 1 : 0
    const inFlight = use.inFlight - own
    if (maxConcurrent && inFlight >= maxConcurrent.value) {
      const reason = `${inFlight} calls of ${tool} are in flight, which is its limit (max_concurrent).`
      return { reason, rule: maxConcurrent.rule }
    }
    const started = use.started.length - own
    if (rate === undefined || started < rate.value) return undefined
    const free = (use.started[started - rate.value] ?? 0) + MINUTE - this.#now()
    const reason = `${tool} was called ${rate.value} times within a minute, which is its limit (rate_limit_per_minute). Try again in ${formatDuration(Math.max(0, free))}.`
    return { reason, rule: rate.rule }
  }

  enter(tool: string, limited: Limited): void {
    if (!isLimited(limited)) return
    const use = this.#currentUse(tool)
    use.inFlight++
    use.started.push(this.#now())
  }

  /** Takes the limits with which the call entered: a call that was not counted must not make room for another. */
  leave(tool: string, limited: Limited): void {
    if (!isLimited(limited)) return
    const use = this.#uses.get(tool)
    if (use && use.inFlight > 0) use.inFlight--
  }

  #currentUse(tool: string): ToolUse {
    const known = this.#uses.get(tool)
    if (known) {
      const since = this.#now() - MINUTE
      known.started = known.started.filter((at) => at > since)
      return known
    }
    const use = { started: [], inFlight: 0 }
    this.#uses.set(tool, use)
    return use
  }
}
