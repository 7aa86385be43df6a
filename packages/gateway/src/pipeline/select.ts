import { ALLOW, type Selection, type Step, type Verdict } from '@sallyport/core'
import type { Offer } from '../catalog/catalog.ts'

/** What a list and a call both ask about: a thing on offer, and what its server's entry leaves of it. */
export interface Listed {
  readonly offer: Offer
  readonly selection: Selection
  readonly place: { readonly file: string; readonly line: number } | undefined
}

/** The server's own `includeTools` and `excludeTools`. */
export const select: Step<Listed> = { name: 'select', judge: judgeSelection }

function judgeSelection({ offer, selection, place }: Listed): Verdict {
  if (offer.kind !== 'tool' || selection(offer.name)) return ALLOW
  const reason = `The entry of server ${offer.server} does not include this tool.`
  return { outcome: 'deny', code: 'CALL_DENIED', reason, ...(place && { rule: place }) }
}
