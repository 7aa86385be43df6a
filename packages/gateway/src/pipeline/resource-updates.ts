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

/** An update about a resource, as its subscriber may see it. */
export interface PermittedUpdate {
  readonly params: JsonObject
  /** What a subscription would need now: 0 no approval, 1 an approval, 2 a new approval (in a lockdown, earlier ones are not valid). */
  readonly strictness: 0 | 1 | 2
}

/**
 * Checks updates of resources. Each is decided like a new subscription to that resource: the rules may have changed, and
 * the update may be about a part of the resource that was never allowed. Limits for callers do not apply to updates.
 */
export class ResourceUpdates {
  readonly #decider: CallDecider

  constructor(options: ResourceUpdatesOptions) {
    const steps = [argumentsStep, approveStep(options.approvals)].map((step) =>
      withEnforceFlag(step, ({ rules }) => rules.policy),
    )
    this.#decider = new CallDecider({ ...options, check: () => ALLOW, steps })
  }

  /** `undefined` if the subscriber may not get the update. */
  check({ principal, offer }: Subscriber, params: JsonObject): PermittedUpdate | undefined {
    const asked = { id: '', traceId: '', method: 'resources/subscribe', cancellation: new Cancellation() }
    const judged = this.#decider.decideSync({ ...asked, principal, offer, params: { uri: params.uri ?? offer.name } })
    if (judged.decision.outcome === 'deny') return undefined
    const shown = judged.context.rules.policy.secrets.value === 'allow' ? params : (redactJson(params) as JsonObject)
    return { params: shown, strictness: strictnessOf(judged) }
  }
}

function strictnessOf({ decision, context: { rules } }: JudgedCall): PermittedUpdate['strictness'] {
  if (decision.outcome === 'allow') return 0
  return rules.mode === 'LOCKDOWN' ? 2 : 1
}
