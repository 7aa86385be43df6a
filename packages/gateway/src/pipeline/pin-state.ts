import type { ToolPolicy } from '@sallyport/core'
import type { Offer } from '../catalog/catalog.ts'
import { pinOf } from '../governance/governance.ts'

/** How a tool stands to what was reviewed. `unpinned`: any definition will do. */
export const PIN_STATES = ['pinned', 'changed', 'unpinned'] as const
export type PinState = (typeof PIN_STATES)[number]

export function pinStateOf(offer: Offer, { pin }: Pick<ToolPolicy, 'pin'>): PinState {
  if (pin === undefined) return 'unpinned'
  return pin.value === pinOf(offer) ? 'pinned' : 'changed'
}
