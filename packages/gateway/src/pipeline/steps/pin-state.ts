import type { PolicyValue, ToolPolicy } from '@sallyport/core'
import type { Offer } from '../../catalog/catalog.ts'
import { pinOf } from '../../governance/governance.ts'

/** How a tool stands to what was reviewed. `unpinned`: any definition will do. */
export const PIN_STATES = ['pinned', 'changed', 'unpinned'] as const
export type PinState = (typeof PIN_STATES)[number]

type Pinned = Pick<ToolPolicy, 'pin'>

export function resolvePinState(offer: Offer, policy: Pinned): PinState {
  if (policy.pin.length === 0) return 'unpinned'
  return findBrokenPin(offer, policy) ? 'changed' : 'pinned'
}

/** The first pin that the definition is not. Entries may have different ones: then no definition is all of them. */
export function findBrokenPin(offer: Offer, { pin }: Pinned): PolicyValue<string> | undefined {
  if (pin.length === 0) return undefined
  // An address that no list names is as good as the template that it matches.
  const now = pinOf(offer.through ?? offer)
  return pin.find(({ value }) => value !== now)
}
