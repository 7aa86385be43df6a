import type { SallyportError } from '@sallyport/core'
import type { Catalog } from './catalog/catalog.ts'
import { choicesFor, mayApprove, type Settings } from './config/config.ts'
import { PatientApprovals } from './governance/governance.ts'
import type { Governing } from './governing.ts'
import { createProviderEngine, Returning, returnRules, type SessionShelves } from './isolation/isolation.ts'
import { type CallGauge, Listings, listingSteps, Pipeline, serverRules } from './pipeline/pipeline.ts'
import type { Ids } from './serve/serve.ts'
import type { LocalTokens } from './sessions/sessions.ts'
import type { Store } from './store/store.ts'
import type { Telemetry } from './telemetry/telemetry.ts'
import type { Fleet } from './upstream/upstream.ts'

export interface DecidingOptions {
  readonly catalog: Catalog
  readonly governing: Governing
  readonly gauge: CallGauge
  readonly fleet: Fleet
  readonly store: Store
  readonly telemetry: Telemetry
  readonly ids: Ids
  /** Where whole results are kept. */
  readonly shelves: SessionShelves
  readonly tokens: Pick<LocalTokens, 'isValid'>
  readonly settings: () => Settings
  readonly onBug: (error: SallyportError) => void
}

/** What decides: for lists, and for calls. */
export interface Deciding {
  readonly listings: Listings
  readonly pipeline: Pipeline
}

/** Composes what decides. Lists and calls share it, and everybody who asks. */
export function createDeciding(options: DecidingOptions): Deciding {
  const listings = createListings(options)
  const { governing, gauge, fleet, store, telemetry, ids, tokens, settings, onBug } = options
  const { rules, roots, limits, approvals, modes, check, kept } = governing
  const pipeline = new Pipeline({
    ...{ listings, gauge, check, kept, ids, onBug, roots },
    approvals: new PatientApprovals({ approvals }),
    tools: limits,
    isTokenValid: (token) => tokens.isValid(token),
    rulesOf: rules.rulesOf,
    mayApprove: (principal) => mayApprove(settings().profiles, principal),
    log: store.log,
    onEnd: modes.ended,
    audit: () => settings().audit,
    upstream: (server) => fleet.find(server),
    observer: telemetry.calls,
    returning: createReturning(options),
  })
  return { listings, pipeline }
}

function createReturning({ shelves, settings, governing, ids }: DecidingOptions): Returning {
  return new Returning({
    settings,
    shelfOf: (owner) => shelves.of(owner),
    flawIn: governing.flawIn,
    createEngine: createProviderEngine,
    newId: () => ids.callId(),
  })
}

function createListings({ catalog, governing, settings }: DecidingOptions): Listings {
  const { policyOf, doubtsOf, modeState } = governing.rules
  return new Listings({
    catalog,
    steps: listingSteps(modeState),
    rulesOf: serverRules(() => settings().servers),
    policyOf,
    doubtsOf,
    choicesFor: (principal) => choicesFor(settings().profiles, principal),
    pinned: governing.pinned,
    returnsOf: (offer) => returnRules(settings(), offer, policyOf(offer)),
  })
}
