import { ALLOW, type Step, type ToolPolicy, type Verdict } from '@sallyport/core'
import type { Offer } from '../catalog/catalog.ts'
import { pinOf } from '../governance/governance.ts'

/** A definition that was reviewed is a lock: another one is refused until a person accepts it. */
export const pin: Step<{ readonly offer: Offer; readonly policy: ToolPolicy }> = {
  name: 'pin',
  judge: ({ offer, policy }) => {
    if (policy.pin === undefined || offer.kind !== 'tool') return ALLOW
    return policy.pin.value === pinOf(offer) ? ALLOW : denial(offer, policy.pin)
  },
}

function denial({ server, name, recordName }: Offer, { rule }: NonNullable<ToolPolicy['pin']>): Verdict {
  const reason = `Server ${server} changed the definition of ${name} after it was reviewed (definition_changed). It is refused until a person accepts it: sallyport tools accept ${recordName}`
  return { outcome: 'deny', code: 'DEFINITION_CHANGED', reason, ...(rule && { rule }) }
}
