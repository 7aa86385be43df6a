import { ALLOW, type Principal, SallyportError, type Step, toOwnerKey, type Verdict } from '@sallyport/core'
import type { ToolRules } from '../rules/tool-rules.ts'
import type { CallContext } from './call-context.ts'
import type { ToolLimits } from './tool-limits.ts'

/** What one caller may have of all the calls at once: the rest is there for the others. */
const MAX_CALLER_SHARE = 0.75

/** How many calls are under way, in the whole gateway and for each caller. */
export class CallGauge {
  readonly #max: () => number
  readonly #byOwner = new Map<string, number>()
  #inFlight = 0

  constructor(most: () => number) {
    this.#max = most
  }

  get inFlight(): number {
    return this.#inFlight
  }

  enter(principal: Principal): void {
    const owner = toOwnerKey(principal)
    this.#inFlight++
    this.#byOwner.set(owner, this.#countOf(owner) + 1)
  }

  leave(principal: Principal): void {
    const owner = toOwnerKey(principal)
    const left = this.#countOf(owner) - 1
    this.#inFlight--
    if (left > 0) this.#byOwner.set(owner, left)
    else this.#byOwner.delete(owner)
  }

  /** Why one more would be too many beside all but those `counted` for itself; undefined when it is not. */
  refusal(principal: Principal, counted = 0): string | undefined {
    const most = this.#max()
    const all = this.#inFlight - counted
    if (all >= most) return `${all} calls are under way, which is the limit (gateway.max_calls_in_flight).`
    const own = this.#countOf(toOwnerKey(principal)) - counted
    if (own < Math.max(1, Math.floor(most * MAX_CALLER_SHARE))) return undefined
    return `${own} calls of this session are under way, which is its share of gateway.max_calls_in_flight.`
  }

  #countOf(owner: string): number {
    return this.#byOwner.get(owner) ?? 0
  }
}

/** Refuses at once what would only wait behind too much else, or comes too often. */
export function limitsStep(gauge: CallGauge, tools: ToolLimits): Step<CallContext> {
  return {
    name: 'limits',
    evaluate: ({ principal, rules, counted }) => {
      const crowded = gauge.refusal(principal, counted ? 1 : 0)
      if (crowded !== undefined) return { outcome: 'deny', code: 'OVERLOADED', reason: crowded }
      return checkToolLimits(rules, tools, counted)
    },
  }
}

interface Limiters {
  readonly gauge: CallGauge
  readonly tools: ToolLimits
}

/** Why a call that was judged in an earlier turn cannot begin now: others may have begun meanwhile. */
export function recheckLimits(subject: CallContext, { gauge, tools }: Limiters): SallyportError | undefined {
  const verdict = limitsStep(gauge, tools).evaluate(subject)
  return verdict.outcome === 'deny' ? new SallyportError(verdict.code, verdict.reason) : undefined
}

/** What its own entry says of how often it may be used. */
export function checkToolLimits({ name, policy }: ToolRules, tools: ToolLimits, counted?: ToolRules): Verdict {
  const tooMuch = tools.refusal(name, policy, counted?.name === name ? counted.policy : undefined)
  if (tooMuch === undefined) return ALLOW
  const { reason, rule } = tooMuch
  return { outcome: 'deny', code: 'RATE_LIMITED', reason, ...(rule && { rule }) }
}
