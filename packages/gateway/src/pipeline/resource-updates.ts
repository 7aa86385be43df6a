import { ALLOW, Cancellation, type JsonObject, type Principal, redactJson } from '@sallyport/core'
import type { Offer } from '../catalog/catalog.ts'
import type { Approvals } from '../governance/governance.ts'
import { withEnforceFlag } from './rules/with-enforce-flag.ts'
import { approveStep } from './steps/approve-step.ts'
import { argumentsStep } from './steps/arguments-step.ts'
import { CallDecider, type CallDeciderOptions, type JudgedCall } from './steps/call-decider.ts'

export interface ResourceUpdatesOptions extends Omit<CallDeciderOptions, 'steps' | 'check'> {
  readonly approvals: Pick<Approvals, 'grantFor'>
}

/** Who subscribed to what. */
export interface Subscriber {
  readonly principal: Principal
  readonly offer: Offer
}

/** News of a resource as its subscriber may hear them. */
export interface PermittedUpdate {
  readonly params: JsonObject
  /** What it would take to subscribe now: nobody, a person, or one in a lockdown, where earlier approvals do not count. */
  readonly strictness: 0 | 1 | 2
}

/**
 * News of resources, each judged as subscribing to what it is about would be: the rules may have changed since, and
 * what changed may be a part of the resource that they never allowed. How often servers tell has no limit of a caller's.
 */
export class ResourceUpdates {
  readonly #decider: CallDecider

  constructor(options: ResourceUpdatesOptions) {
    const steps = [argumentsStep, approveStep(options.approvals)].map((step) =>
      withEnforceFlag(step, ({ rules }) => rules.policy),
    )
    this.#decider = new CallDecider({ ...options, check: () => ALLOW, steps })
  }

  /** Undefined where the subscriber may not hear of it. */
  check({ principal, offer }: Subscriber, params: JsonObject): PermittedUpdate | undefined {
    const asked = { id: '', traceId: '', method: 'resources/subscribe', cancellation: new Cancellation() }
    const trial = this.#decider.decideSync({ ...asked, principal, offer, params: { uri: params.uri ?? offer.name } })
    if (trial.decision.outcome === 'deny') return undefined
    const shown = trial.context.rules.policy.secrets.value === 'allow' ? params : (redactJson(params) as JsonObject)
    return { params: shown, strictness: strictnessOf(trial) }
  }
}

function strictnessOf({ decision, context: { rules } }: JudgedCall): PermittedUpdate['strictness'] {
  if (decision.outcome === 'allow') return 0
  return rules.mode === 'LOCKDOWN' ? 2 : 1
}
