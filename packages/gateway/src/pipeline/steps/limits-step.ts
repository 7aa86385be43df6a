import { ALLOW, type Principal, SallyportError, type Step, toOwnerKey, type Verdict } from '@sallyport/core'
import type { ToolRules } from '../rules/tool-rules.ts'
import type { CallContext } from './call-context.ts'
import type { ToolLimits } from './tool-limits.ts'

/** The maximum share of in-flight calls for one caller: the rest is for the others. */
const MAX_CALLER_SHARE = 0.75

/** How many calls are in flight, in the whole gateway and for each caller. */
export class CallGauge {
  readonly #max: () => number
  readonly #byOwner = new Map<string, number>()
  #inFlight = 0

  constructor(max: () => number) {
    this.#max = max
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

  /** Why one more call is not allowed; `undefined` if it is. `counted`: how many of the counted calls are this call itself. */
  refusal(principal: Principal, counted = 0): string | undefined {
    const max = this.#max()
    const all = this.#inFlight - counted
    if (all >= max) return `${all} calls are in flight, which is the limit (gateway.max_calls_in_flight).`
    const own = this.#countOf(toOwnerKey(principal)) - counted
    if (own < Math.max(1, Math.floor(max * MAX_CALLER_SHARE))) return undefined
    return `${own} calls of this session are in flight, which is its share of gateway.max_calls_in_flight.`
  }

  #countOf(owner: string): number {
    return this.#byOwner.get(owner) ?? 0
  }
}

/** Refuses a call at once if too many calls are in flight, or if it comes too often. */
export function limitsStep(gauge: CallGauge, tools: ToolLimits): Step<CallContext> {
  return {
    name: 'limits',
    evaluate: ({ principal, rules, counted }) => {
      const overLimit = gauge.refusal(principal, counted ? 1 : 0)
      if (overLimit !== undefined) return { outcome: 'deny', code: 'OVERLOADED', reason: overLimit }
      return checkToolLimits(rules, tools, counted)
    },
  }
}

interface Limiters {
  readonly gauge: CallGauge
  readonly tools: ToolLimits
}

/** Why an allowed call cannot start now: other calls may have started since the decision. */
export function recheckLimits(subject: CallContext, { gauge, tools }: Limiters): SallyportError | undefined {
  const verdict = limitsStep(gauge, tools).evaluate(subject)
  return verdict.outcome === 'deny' ? new SallyportError(verdict.code, verdict.reason) : undefined
}

/** Checks the limits in the tool's own entry. */
export function checkToolLimits({ name, policy }: ToolRules, tools: ToolLimits, counted?: ToolRules): Verdict {
  const exceeded = tools.refusal(name, policy, counted?.name === name ? counted.policy : undefined)
  if (exceeded === undefined) return ALLOW
  const { reason, rule } = exceeded
  return { outcome: 'deny', code: 'RATE_LIMITED', reason, ...(rule && { rule }) }
}
