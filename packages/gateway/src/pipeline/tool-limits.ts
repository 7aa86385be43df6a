import { formatDuration, type RuleSource, type ToolPolicy } from '@sallyport/core'

const MINUTE = 60_000

interface Use {
  /** When the calls of the last minute began, oldest first. */
  started: number[]
  underWay: number
}

interface TooMuch {
  readonly reason: string
  readonly rule: RuleSource | undefined
}

type Limited = Pick<ToolPolicy, 'rateLimitPerMinute' | 'maxConcurrent'>

/** How often tools were called lately, where an entry limits that. */
export class ToolLimits {
  readonly #now: () => number
  readonly #uses = new Map<string, Use>()

  constructor(now: () => number) {
    this.#now = now
  }

  /** Why one more call would be too many, and by which rule; undefined when it is not. */
  refusal(tool: string, { rateLimitPerMinute: rate, maxConcurrent }: Limited): TooMuch | undefined {
    if (rate === undefined && maxConcurrent === undefined) return undefined
    const use = this.#useOf(tool)
    if (maxConcurrent && use.underWay >= maxConcurrent.value) {
      const reason = `${use.underWay} calls of ${tool} are under way, which is its limit (max_concurrent).`
      return { reason, rule: maxConcurrent.rule }
    }
    if (rate === undefined || use.started.length < rate.value) return undefined
    const free = (use.started[use.started.length - rate.value] ?? 0) + MINUTE - this.#now()
    const reason = `${tool} was called ${rate.value} times within a minute, which is its limit (rate_limit_per_minute). Try again in ${formatDuration(Math.max(0, free))}.`
    return { reason, rule: rate.rule }
  }

  enter(tool: string, { rateLimitPerMinute, maxConcurrent }: Limited): void {
    if (rateLimitPerMinute === undefined && maxConcurrent === undefined) return
    const use = this.#useOf(tool)
    use.underWay++
    use.started.push(this.#now())
  }

  /** By the limits with which it entered: a call that was not counted then must not make room for another now. */
  leave(tool: string, { rateLimitPerMinute, maxConcurrent }: Limited): void {
    if (rateLimitPerMinute === undefined && maxConcurrent === undefined) return
    const use = this.#uses.get(tool)
    if (use && use.underWay > 0) use.underWay--
  }

  #useOf(tool: string): Use {
    const known = this.#uses.get(tool)
    if (known) {
      const since = this.#now() - MINUTE
      known.started = known.started.filter((at) => at > since)
      return known
    }
    const use = { started: [], underWay: 0 }
    this.#uses.set(tool, use)
    return use
  }
}
