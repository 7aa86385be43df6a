import { ALLOW, type Selection, type Step, type Verdict } from '@sallyport/core'
import type { Offer } from '../catalog/catalog.ts'

/** What a list and a call both ask about: a thing on offer, and what its server's entry leaves of it. */
export interface Listed {
  readonly offer: Offer
  readonly selection: Selection
  /** Whether the entry leaves any tool of the server, where it has tools at all. */
  readonly leavesTools: boolean
  readonly place: { readonly file: string; readonly line: number } | undefined
}

/** The server's own `includeTools` and `excludeTools`. Where no tool is left, nothing else of the server is either. */
export const select: Step<Listed> = { name: 'select', judge: judgeSelection }

function judgeSelection({ offer, selection, leavesTools, place }: Listed): Verdict {
  if (offer.kind === 'tool' ? selection(offer.name) : leavesTools) return ALLOW
  const what = offer.kind === 'tool' ? 'does not include this tool' : 'includes none of its tools'
  const reason = `The entry of server ${offer.server} ${what}.`
  return { outcome: 'deny', code: 'CALL_DENIED', reason, ...(place && { rule: place }) }
}
