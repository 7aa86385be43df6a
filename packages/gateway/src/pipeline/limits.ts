import { ALLOW, ownerOf, type Principal, SallyportError, type Step, type Verdict } from '@sallyport/core'
import type { Case } from './case.ts'
import type { ToolLimits } from './tool-limits.ts'
import type { ToolRules } from './tool-rules.ts'

/** What one caller may have of all the calls at once: the rest is there for the others. */
const SHARE = 0.75

/** How many calls are under way, in the whole gateway and for each caller. */
export class CallGauge {
  readonly #most: () => number
  readonly #byOwner = new Map<string, number>()
  #now = 0

  constructor(most: () => number) {
    this.#most = most
  }

  get inFlight(): number {
    return this.#now
  }

  enter(principal: Principal): void {
    const owner = ownerOf(principal)
    this.#now++
    this.#byOwner.set(owner, this.#of(owner) + 1)
  }

  leave(principal: Principal): void {
    const owner = ownerOf(principal)
    const left = this.#of(owner) - 1
    this.#now--
    if (left > 0) this.#byOwner.set(owner, left)
    else this.#byOwner.delete(owner)
  }

  /** Why one more would be too many beside all but those `counted` for itself; undefined when it is not. */
  refusal(principal: Principal, counted = 0): string | undefined {
    const most = this.#most()
    const all = this.#now - counted
    if (all >= most) return `${all} calls are under way, which is the limit (gateway.max_calls_in_flight).`
    const own = this.#of(ownerOf(principal)) - counted
    if (own < Math.max(1, Math.floor(most * SHARE))) return undefined
    return `${own} calls of this session are under way, which is its share of gateway.max_calls_in_flight.`
  }

  #of(owner: string): number {
    return this.#byOwner.get(owner) ?? 0
  }
}

/** Refuses at once what would only wait behind too much else, or comes too often. */
export function limits(gauge: CallGauge, tools: ToolLimits): Step<Case> {
  return {
    name: 'limits',
    judge: ({ principal, rules, counted }) => {
      const crowded = gauge.refusal(principal, counted ? 1 : 0)
      if (crowded !== undefined) return { outcome: 'deny', code: 'OVERLOADED', reason: crowded }
      return judgeUse(rules, tools, counted)
    },
  }
}

interface Limiters {
  readonly gauge: CallGauge
  readonly tools: ToolLimits
}

/** Why a call that was judged in an earlier turn cannot begin now: others may have begun meanwhile. */
export function crowdedOut(subject: Case, { gauge, tools }: Limiters): SallyportError | undefined {
  const verdict = limits(gauge, tools).judge(subject)
  return verdict.outcome === 'deny' ? new SallyportError(verdict.code, verdict.reason) : undefined
}

/** What its own entry says of how often it may be used. */
export function judgeUse({ name, policy }: ToolRules, tools: ToolLimits, counted?: ToolRules): Verdict {
  const tooMuch = tools.refusal(name, policy, counted?.name === name ? counted.policy : undefined)
  if (tooMuch === undefined) return ALLOW
  const { reason, rule } = tooMuch
  return { outcome: 'deny', code: 'RATE_LIMITED', reason, ...(rule && { rule }) }
}
