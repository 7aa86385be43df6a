import { ALLOW, Cancellation, type JsonObject, type Principal, redactJson } from '@sallyport/core'
import type { Offer } from '../catalog/catalog.ts'
import type { Approvals } from '../governance/governance.ts'
import { approve } from './approve.ts'
import { Judge, type JudgeOptions, type Trial } from './judge.ts'
import { judgeArguments } from './judge-arguments.ts'
import { watched } from './watched.ts'

export interface HeardUpdatesOptions extends Omit<JudgeOptions, 'steps' | 'check'> {
  readonly approvals: Pick<Approvals, 'grantFor'>
}

/** Who subscribed to what. */
export interface Subscriber {
  readonly principal: Principal
  readonly offer: Offer
}

/** News of a resource as its subscriber may hear them. */
export interface HeardUpdate {
  readonly params: JsonObject
  /** What it would take to subscribe now: nobody, a person, or one in a lockdown, where earlier approvals do not count. */
  readonly strictness: 0 | 1 | 2
}

/**
 * News of resources, each judged as subscribing to what it is about would be: the rules may have changed since, and
 * what changed may be a part of the resource that they never allowed. How often servers tell has no limit of a caller's.
 */
export class HeardUpdates {
  readonly #judge: Judge

  constructor(options: HeardUpdatesOptions) {
    const steps = [judgeArguments, approve(options.approvals)].map((step) => watched(step, ({ rules }) => rules.policy))
    this.#judge = new Judge({ ...options, check: () => ALLOW, steps })
  }

  /** Undefined where the subscriber may not hear of it. */
  hear({ principal, offer }: Subscriber, params: JsonObject): HeardUpdate | undefined {
    const asked = { id: '', traceId: '', method: 'resources/subscribe', cancellation: new Cancellation() }
    const trial = this.#judge.judgeNow({ ...asked, principal, offer, params: { uri: params.uri ?? offer.name } })
    if (trial.decision.outcome === 'deny') return undefined
    const shown = trial.case.rules.policy.secrets.value === 'allow' ? params : (redactJson(params) as JsonObject)
    return { params: shown, strictness: strictnessOf(trial) }
  }
}

function strictnessOf({ decision, case: { rules } }: Trial): HeardUpdate['strictness'] {
  if (decision.outcome === 'allow') return 0
  return rules.mode === 'LOCKDOWN' ? 2 : 1
}
