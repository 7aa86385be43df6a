import {
  ALLOW,
  Cancellation,
  compileSelection,
  type Era,
  type JsonObject,
  type Mode,
  type PathContext,
  type Principal,
  SallyportError,
  type SallyportEvent,
  type SensitivityRule,
  type ToolEntry,
  toRecordedArguments,
} from '@sallyport/core'
import { Catalog, type Offer } from '../catalog/catalog.ts'
import { DEFAULT_SETTINGS, type GovernanceSettings, type LabelSettings } from '../config/config.ts'
import { Approvals, REMOTE_PATH_CONTEXT, RetryableApprovals, type SessionLabels } from '../governance/governance.ts'
import { UNSHAPED } from '../isolation/isolation.ts'
import type { EventLog, Recordable } from '../store/store.ts'
import { FrameReader } from '../upstream/answers/frame-reader.ts'
import { sendAs } from '../upstream/permit.test-kit.ts'
import { builtInConfig, type ClientCall, type Frame, type ServerCatalog, type Upstream } from '../upstream/upstream.ts'
import type { ListingsOptions } from './listings.ts'
import {
  ActiveRules,
  type Call,
  CallGauge,
  ClientRoots,
  Listings,
  listingSteps,
  Pipeline,
  type PipelineOptions,
  ToolLimits,
} from './pipeline.ts'

export const ANN: Principal = { user: 'ann', agent: 'any', profile: 'default', session: 's1', role: 'agent' }

export function toTestFrame(message: JsonObject | string): Frame {
  const reader = new FrameReader(10_000_000)
  reader.feed(Buffer.from(typeof message === 'string' ? message : JSON.stringify(message)))
  const outcome = reader.finish()
  if (outcome.kind !== 'frame') throw new Error(`The test wrote ${outcome.kind}.`)
  return outcome.frame
}

/** A log in memory that can fail like a full disk. */
export class MemoryLog implements EventLog {
  readonly events: SallyportEvent[] = []
  failure: Error | undefined
  failures = 0
  readonly problem = undefined
  syncing: () => Promise<void> = () => Promise.resolve()

  append(event: Recordable): void {
    if (this.failure) throw this.failure
    this.events.push('members' in event ? (JSON.parse(`{${event.members}}`) as SallyportEvent) : event)
  }

  async appendSoon(event: Recordable): Promise<SallyportError | undefined> {
    if (this.failure instanceof SallyportError) return this.failure
    this.append(event)
    return undefined
  }

  watch(): () => void {
    return () => {}
  }

  watchWrites(): () => void {
    return () => {}
  }

  get lastSeq(): number {
    return this.events.length
  }

  onProblem(): void {}

  sync(): Promise<void> {
    return this.syncing()
  }

  get types(): readonly string[] {
    return this.events.map(({ type }) => type)
  }
}

export interface TestPipelineOptions {
  readonly catalogues: Readonly<Record<string, ServerCatalog>>
  readonly include?: readonly string[]
  readonly exclude?: readonly string[]
  readonly maxCalls?: number
  readonly audit?: { readonly durability: 'process' | 'power'; readonly required: boolean }
  readonly onBug?: (error: SallyportError) => void
  readonly serve?: (request: ClientCall) => Promise<Frame>
  /** The protocol era of the servers. */
  readonly era?: Era
  readonly now?: () => number
  readonly entries?: readonly ToolEntry[]
  readonly governance?: Partial<GovernanceSettings>
  readonly world?: PathContext
  readonly clientMayApprove?: boolean
  readonly check?: PipelineOptions['check']
  readonly isTokenValid?: PipelineOptions['isTokenValid']
  readonly loadPinned?: ListingsOptions['loadPinned']
  readonly shapingOf?: NonNullable<ListingsOptions['shapingOf']>
  readonly labels?: SessionLabels
  readonly labelSettings?: Partial<LabelSettings>
  readonly privateRouteOf?: PipelineOptions['privateRouteOf']
  readonly possibleRoutesOf?: PipelineOptions['possibleRoutesOf']
  /** Whether all servers are trusted. */
  readonly isTrusted?: boolean
  readonly serverSensitivity?: SensitivityRule
  /** What the servers say to the gateway in each answer. */
  readonly claims?: JsonObject
}

/** A pipeline with servers that the test simulates. */
export function createTestPipeline({
  catalogues,
  include,
  exclude = [],
  maxCalls = 10,
  entries = [],
  serverSensitivity,
  ...options
}: TestPipelineOptions) {
  const catalog = new Catalog(Object.keys(catalogues), 'prefixed')
  for (const [server, catalogue] of Object.entries(catalogues)) catalog.put(server, catalogue)
  const rules = {
    selection: compileSelection(include, exclude),
    location: { file: 'config.yaml', line: 7 },
    named: new Set<string>(),
    isDockerGateway: false,
  }
  const { now = Date.now } = options
  const state: { mode: Mode } = { mode: 'NORMAL' }
  const roots = new ClientRoots()
  const book = new ActiveRules({
    catalog,
    file: () => ({ path: 'tools.yaml', entries, categories: new Map(), modePolicies: new Map() }),
    settings: () => ({ ...DEFAULT_SETTINGS.governance, ...options.governance }),
    mode: () => state,
    isTrusted: () => false,
    isDockerGateway: () => false,
    fileProblem: () => undefined,
    worldOf: () => options.world ?? REMOTE_PATH_CONTEXT,
    rootsOf: roots.rootsFor,
    sensitivityOf: () => serverSensitivity && { value: serverSensitivity, reason: 'the entry of the server' },
  })
  const { policyOf, modeState, rulesOf } = book
  const steps = listingSteps(modeState)
  const { loadPinned = () => undefined, shapingOf = () => UNSHAPED } = options
  const listings = new Listings({ catalog, steps, serverRulesOf: () => rules, policyOf, loadPinned, shapingOf, now })
  const gauge = new CallGauge(() => maxCalls)
  const log = new MemoryLog()
  const requests: ClientCall[] = []
  const serve =
    options.serve ?? (() => Promise.resolve(toTestFrame({ jsonrpc: '2.0', id: 1, result: { content: [] } })))
  const upstream = {
    config: builtInConfig('files'),
    request: (request: ClientCall) =>
      sendAs(request.permit, async () => {
        requests.push(request)
        return { frame: await serve(request), era: options.era ?? 'legacy', claims: options.claims }
      }),
  } as Upstream
  const audit = options.audit ?? { durability: 'process' as const, required: true }
  let questions = 0
  const approvals = new Approvals({
    record: async (event) => log.append(event),
    timeout: () => 60_000,
    argumentsToRecord: (args) => args,
    allowAlways: async () => async () => undefined,
    newId: () => 'a1',
    now,
  })
  const pipeline = new Pipeline({
    labelSettings: () => ({ ...DEFAULT_SETTINGS.labels, ...options.labelSettings }),
    labels: options.labels,
    privateRouteOf: options.privateRouteOf ?? (() => undefined),
    possibleRoutesOf: options.possibleRoutesOf ?? (() => ['allowed-host', 'isolated-instance']),
    isTrusted: () => options.isTrusted ?? false,
    listings,
    rulesOf,
    gauge,
    roots,
    tools: new ToolLimits(() => now()),
    approvals: new RetryableApprovals({ approvals, timeoutFor: () => undefined }),
    check: options.check ?? (() => ALLOW),
    onEnd: () => {},
    isTokenValid: options.isTokenValid ?? (() => true),
    argumentsToRecord: (args) => toRecordedArguments(args, 'redacted'),
    mayApprove: () => options.clientMayApprove ?? false,
    log,
    ids: { callId: () => `q${++questions}`, traceId: () => 't9' },
    audit: () => audit,
    onBug: options.onBug ?? (() => {}),
    upstream: (server) => (Object.hasOwn(catalogues, server) && catalog.knows(server) ? upstream : undefined),
  })
  const setMode = (mode: Mode): void => {
    state.mode = mode
    book.invalidate()
    listings.invalidate()
  }
  return { catalog, listings, gauge, log, requests, pipeline, approvals, rulesOf, setMode }
}

export function createCall(offer: Offer | undefined, changes: Partial<Call> = {}): Call {
  if (!offer) throw new Error('There is no such offer.')
  return {
    id: 'c1',
    traceId: 't1',
    principal: ANN,
    method: 'tools/call',
    offer,
    params: { name: offer.name },
    cancellation: new Cancellation(),
    ...changes,
  }
}
