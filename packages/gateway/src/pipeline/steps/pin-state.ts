import type { PolicyValue, ToolPolicy } from '@sallyport/core'
import type { Offer } from '../../catalog/catalog.ts'
import { computePin } from '../../governance/governance.ts'

/** How a definition compares to the reviewed one. `unpinned`: any definition is accepted. */
export const PIN_STATES = ['pinned', 'changed', 'unpinned'] as const
export type PinState = (typeof PIN_STATES)[number]

type Pinned = Pick<ToolPolicy, 'pin'>

export function resolvePinState(offer: Offer, policy: Pinned): PinState {
  if (policy.pin.length === 0) return 'unpinned'
  return findBrokenPin(offer, policy) ? 'changed' : 'pinned'
}

/** The first pin that does not match the definition. If entries have different pins, no definition matches all of them. */
export function findBrokenPin(offer: Offer, { pin }: Pinned): PolicyValue<string> | undefined {
  if (pin.length === 0) return undefined
  // An unlisted URI has the pin of the template that it matches.
  const now = computePin(offer.through ?? offer)
  return pin.find(({ value }) => value !== now)
}
