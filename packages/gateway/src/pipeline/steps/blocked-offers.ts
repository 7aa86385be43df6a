import type { Principal, Verdict } from '@sallyport/core'
import type { Offer } from '../../catalog/catalog.ts'
import type { SessionLabel } from '../../governance/governance.ts'
import type { Listings } from '../listings.ts'
import type { ToolRules } from '../rules/tool-rules.ts'
import { decideByLabel, type LabelStepOptions, listRemedies, type RemedyOptions } from './label-step.ts'

export interface BlockedOffersOptions extends LabelStepOptions, RemedyOptions {
  readonly listings: Pick<Listings, 'visibleOffers' | 'decisionFor'>
  readonly rulesOf: (offer: Offer) => ToolRules
}

/** A tool that the label of a session blocks. */
export interface BlockedOffer {
  readonly offer: Offer
  readonly verdict: Verdict
  /** What can be done instead. */
  readonly remedies: readonly string[]
}

/** What a session may not call with this label, of the tools that it may call otherwise. */
export interface BlockedOffers {
  readonly blocked: readonly BlockedOffer[]
  /** How many tools each of its servers has for it, blocked ones included. */
  readonly tools: ReadonlyMap<string, number>
}

/** Decides about every tool of a session by a label: its own, or one that somebody thinks of giving it. */
export function findBlockedOffers(
  principal: Principal,
  label: SessionLabel,
  options: BlockedOffersOptions,
): BlockedOffers {
  const { listings, rulesOf } = options
  const offers = listings
    .visibleOffers(principal)
    .tools.filter((offer) => listings.decisionFor(offer, principal).outcome !== 'deny')
  const tools = new Map<string, number>()
  for (const { server } of offers) tools.set(server, (tools.get(server) ?? 0) + 1)
  const blocked = offers.flatMap((offer): readonly BlockedOffer[] => {
    const call = { call: { offer }, label }
    const verdict = decideByLabel({ ...call, rules: rulesOf(offer), grant: undefined }, options)
    if (verdict.outcome === 'allow') return []
    return [{ offer, verdict, remedies: listRemedies(call, undefined, options) }]
  })
  return { blocked, tools }
}
