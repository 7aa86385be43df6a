import { BUILT_IN_SERVER, isPrivate, type Principal, type SallyportError } from '@sallyport/core'
import { ADAPTERS } from '../agents/agents.ts'
import type { Catalog } from '../catalog/catalog.ts'
import {
  findPrivateRoute,
  findSelections,
  isSandboxed,
  listPossibleRoutes,
  mayApprove,
  refusesSandbox,
  type Settings,
} from '../config/config.ts'
import { RetryableApprovals } from '../governance/governance.ts'
import {
  Audiences,
  createProviderEngine,
  ResultShaper,
  resolveShapingRules,
  type SessionResults,
} from '../isolation/isolation.ts'
import { type CallGauge, compileServerRules, Listings, listingSteps, Pipeline } from '../pipeline/pipeline.ts'
import type { Sandboxes } from '../sandbox/sandbox.ts'
import type { Ids } from '../serve/serve.ts'
import { type CallerKeys, CallerTokens, type EndedSessions, type LocalTokens } from '../sessions/sessions.ts'
import type { Store } from '../store/store.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import type { Fleet } from '../upstream/upstream.ts'
import type { GatewayGovernance } from './gateway-governance.ts'
import { ServerPurges } from './server-purges.ts'

export interface DecisionPartsOptions {
  readonly catalog: Catalog
  readonly governance: GatewayGovernance
  readonly gauge: CallGauge
  readonly fleet: Fleet
  readonly store: Store
  readonly telemetry: Telemetry
  readonly ids: Ids
  /** Stores full results. */
  readonly sessionResults: SessionResults
  readonly tokens: Pick<LocalTokens, 'isValid'>
  readonly callerKeys: CallerKeys
  readonly ended: EndedSessions
  readonly sandboxes: Pick<Sandboxes, 'ending'>
  readonly settings: () => Settings
  readonly onWarning: (text: string) => void
  readonly onBug: (error: SallyportError) => void
}

/** The parts that decide, for lists and for calls. */
export interface DecisionParts {
  readonly listings: Listings
  readonly pipeline: Pipeline
  readonly purges: ServerPurges
}

/** Creates the parts that decide. Lists and calls of all callers share them. */
export function createDecisionParts(options: DecisionPartsOptions): DecisionParts {
  const audiences = new Audiences({ settings: options.settings, agents: ADAPTERS })
  const listings = createListings(options, audiences)
  const { governance, gauge, fleet, store, telemetry, ids, tokens, sandboxes, settings, onBug } = options
  const serverOf = (id: string) => settings().servers.find((server) => server.id === id)
  const { rules, roots, limits, approvals, modes, check, argumentsToRecord } = governance
  const labelOf = (principal: Principal) => {
    const { sensitivity } = governance.labels.labelOf(principal)
    return { sensitivity, isPrivate: isPrivate(sensitivity, settings().labels.privateFrom) }
  }
  const callers = new CallerTokens({ keys: options.callerKeys, labelOf, now: () => Date.now() })
  const pipeline = new Pipeline({
    ...{ listings, gauge, check, argumentsToRecord, ids, onBug, roots },
    approvals: new RetryableApprovals({ approvals }),
    tools: limits,
    isTokenValid: (token) => tokens.isValid(token),
    rulesOf: rules.rulesOf,
    labels: governance.labels,
    labelSettings: () => settings().labels,
    privateRouteOf: (server) => findPrivateRoute(serverOf(server), settings().labels),
    refusesSandbox: (server) => refusesSandbox(serverOf(server)),
    narrowing: (owner) => sandboxes.ending(owner),
    possibleRoutesOf: (server) => listPossibleRoutes(serverOf(server)),
    isTrusted: (server) => server === BUILT_IN_SERVER || (serverOf(server)?.trusted ?? false),
    mayApprove: (principal) => mayApprove(settings().profiles, principal),
    log: store.log,
    onEnd: modes.callEnded,
    audit: () => settings().audit,
    upstream: (server) => fleet.find(server),
    observer: telemetry.calls,
    shaper: createResultShaper(options),
    audiences,
    callers,
  })
  return { listings, pipeline, purges: createPurges(options, callers) }
}

function createPurges(
  { ended, fleet, settings, onWarning }: DecisionPartsOptions,
  callers: CallerTokens,
): ServerPurges {
  return new ServerPurges({
    ...{ ended, callers, onWarning },
    // What a process in a sandbox stores of a session, the gateway removes itself.
    servers: () =>
      settings()
        .servers.filter((server) => server.identity === 'forward' && !isSandboxed(server))
        .map(({ id }) => id),
    find: (server) => fleet.get(server),
  })
}

function createResultShaper({
  sessionResults,
  settings,
  governance,
  ids,
  onWarning,
}: DecisionPartsOptions): ResultShaper {
  return new ResultShaper({
    settings,
    storeFor: (owner) => sessionResults.storeFor(owner),
    findValueProblem: governance.findValueProblem,
    createEngine: createProviderEngine,
    newId: () => ids.callId(),
    onWarning,
  })
}

function createListings({ catalog, governance, settings }: DecisionPartsOptions, audiences: Audiences): Listings {
  const { policyOf, openFindingsOf, modeState } = governance.rules
  return new Listings({
    catalog,
    steps: listingSteps(modeState),
    serverRulesOf: compileServerRules(() => settings().servers),
    policyOf,
    openFindingsOf,
    choicesFor: (principal) => findSelections(settings().profiles, principal),
    loadPinned: governance.loadPinned,
    shapingOf: (offer) => resolveShapingRules(settings(), offer, policyOf(offer)),
    audienceOf: ({ agent }) => audiences.of(agent),
  })
}
