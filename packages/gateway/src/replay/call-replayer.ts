import {
  ALLOW,
  Cancellation,
  canonicalName,
  compileArgumentRules,
  type Decision,
  decide,
  findPaths,
  type Json,
  type JsonObject,
  type Mode,
  type ParsedToolsFile,
  type RuleSource,
  type StepName,
  type ToolPolicy,
  type Verdict,
} from '@sallyport/core'
import type { Catalog, Offer } from '../catalog/catalog.ts'
import { type AutoApproval, type Environment, findSelections, type Settings } from '../config/config.ts'
import { compilePattern, createServerPathWorld } from '../governance/governance.ts'
import {
  ActiveRules,
  type Call,
  type CallContext,
  CallGauge,
  callSteps,
  compileServerRules,
  Listings,
  listingSteps,
  runsDockerGateway,
  ToolLimits,
  type ToolRules,
} from '../pipeline/pipeline.ts'
import { type ArgumentGaps, findArgumentGaps } from './argument-gaps.ts'
import type { RecordedCall } from './recorded-call.ts'

export interface CallReplayerOptions {
  readonly catalog: Catalog
  readonly settings: Settings
  readonly tools: ParsedToolsFile
  readonly environment: Environment
  /** In place of the one in which each call was decided. */
  readonly mode?: Mode | undefined
  /** What a tool's input schema says to arguments. */
  readonly check: (schema: JsonObject, args: JsonObject) => Verdict | Promise<Verdict>
}

/** What would be decided now, or why that cannot be told. */
export type ReplayedDecision =
  | {
      readonly outcome: Verdict['outcome']
      readonly step?: StepName | undefined
      readonly reason: string
      readonly rule?: RuleSource | undefined
    }
  | { readonly outcome: 'undecided'; readonly reason: string }

/** The steps of calls, in one mode. */
interface ModeRules {
  readonly rules: ActiveRules
  readonly listings: Listings
}

/** How many calls there were at once, and how often, no record tells. */
const STEPS = callSteps({
  gauge: new CallGauge(() => Number.POSITIVE_INFINITY),
  tools: new ToolLimits(() => 0),
  approvals: { grantFor: () => undefined },
})

/** Decides recorded calls again, by other rules, with the very steps that decide calls. */
export class CallReplayer {
  readonly #options: CallReplayerOptions
  readonly #rulesByMode = new Map<Mode, ModeRules>()

  constructor(options: CallReplayerOptions) {
    this.#options = options
  }

  async decide(recorded: RecordedCall): Promise<ReplayedDecision> {
    if (recorded.steps.limits === 'deny') return undecided('it was too much at once, and limits are not replayed')
    const offer = this.#findOffer(recorded)
    if (offer === undefined) return undecided('what it asked for is not known any more')
    const court = this.#rulesFor(this.#options.mode ?? recorded.mode)
    const earlier = court.listings.decisionFor(offer, recorded.principal)
    if (earlier.outcome === 'deny') return toReplayed(earlier)
    const gaps = findArgumentGaps(recorded.arguments)
    const checked = await this.#check(recorded, offer, gaps)
    if (checked === undefined) return undecided(NOT_RECORDED)
    const call = callOf(recorded, offer)
    const rules = court.rules.rulesOf(offer)
    const subject: CallContext = {
      call,
      principal: call.principal,
      params: call.params,
      rules,
      checked,
      grant: undefined,
    }
    const decision = decide(STEPS, subject, earlier)
    if (decision.decisive?.step === 'validate') return toReplayed(decision)
    if (!rules.policy.enforce.value) return toReplayed(decision)
    const { autoApprove } = this.#options.settings.governance
    if (dependsOnGaps({ gaps, offer, rules, autoApprove })) return undecided(NOT_RECORDED)
    return this.#applySecretRule(decision, { recorded, gaps, subject })
  }

  /**
   * What was let through is taken to hold no secret, unless its record hides one: every tool refuses secrets, and else
   * hardly any call could be decided.
   */
  #applySecretRule(decision: Decision, { recorded, gaps, subject }: SecretContext): ReplayedDecision {
    const { secrets } = subject.rules.policy
    const isWhole = gaps.values === undefined && !gaps.isOpen
    if (secrets.value !== 'refuse' || isWhole) return toReplayed(decision)
    if (recorded.error === 'SECRET_REFUSED') return SECRET
    const hasPassed = recorded.steps.arguments !== undefined && recorded.steps.arguments !== 'deny'
    return hasPassed && !gaps.hidSecret ? toReplayed(decision) : undecided(NOT_RECORDED)
  }

  /** A schema is no matter of policy: what it said then holds. Undefined: it was not asked, and cannot be now. */
  async #check({ steps, method, arguments: given }: RecordedCall, offer: Offer, gaps: ArgumentGaps) {
    if (steps.validate === 'deny') return INVALID
    if (steps.validate !== undefined || method !== 'tools/call') return ALLOW
    if (gaps.isOpen || gaps.values !== undefined) return undefined
    return this.#options.check(offer.original.inputSchema as JsonObject, given as JsonObject)
  }

  #findOffer({ server, method, toolName }: RecordedCall): Offer | undefined {
    const { snapshot } = this.#options.catalog
    if (method === 'prompts/get')
      return snapshot.prompts.find((offer) => offer.server === server && offer.recordName === toolName)
    if (method === 'resources/read') return ofServer(snapshot.resource(toolName), server)
    const head = canonicalName({ server, tool: '' })
    return toolName.startsWith(head) ? snapshot.findTool({ server, tool: toolName.slice(head.length) }) : undefined
  }

  #rulesFor(mode: Mode): ModeRules {
    const known = this.#rulesByMode.get(mode) ?? this.#createRules(mode)
    this.#rulesByMode.set(mode, known)
    return known
  }

  #createRules(mode: Mode): ModeRules {
    const { catalog, settings, tools, environment } = this.#options
    const serverOf = (id: string) => settings.servers.find((server) => server.id === id)
    const rules = new ActiveRules({
      catalog,
      file: () => tools,
      fileProblem: () => undefined,
      settings: () => settings.governance,
      mode: () => ({ mode }),
      isTrusted: (server) => serverOf(server)?.trusted ?? false,
      isDockerGateway: (server) => runsDockerGateway(serverOf(server)),
      worldOf: (server) => createServerPathWorld(serverOf(server), environment),
    })
    const { policyOf, modeState } = rules
    const serverRulesOf = compileServerRules(() => settings.servers)
    const steps = listingSteps(modeState)
    const listings = new Listings({
      ...{ catalog, steps, serverRulesOf, policyOf },
      choicesFor: (principal) => findSelections(settings.profiles, principal),
      loadPinned: () => undefined,
    })
    return { rules, listings }
  }
}

interface SecretContext {
  readonly recorded: RecordedCall
  readonly gaps: ArgumentGaps
  readonly subject: CallContext
}

const NOT_RECORDED = 'a rule looks at arguments that its record does not tell'
const SECRET: ReplayedDecision = { outcome: 'deny', step: 'arguments', reason: 'Its arguments held a secret.' }
const INVALID: Verdict = { outcome: 'deny', code: 'ARGUMENTS_INVALID', reason: 'Its arguments were not what it takes.' }

const undecided = (reason: string): ReplayedDecision => ({ outcome: 'undecided', reason })

function toReplayed({ outcome, verdicts, decisive }: Decision): ReplayedDecision {
  const said = decisive ?? verdicts.findLast(({ verdict }) => verdict.rule !== undefined)
  return { outcome, step: said?.step, reason: said?.verdict.reason ?? '', rule: said?.verdict.rule }
}

const ofServer = (offer: Offer | undefined, server: string): Offer | undefined =>
  offer?.server === server ? offer : undefined

function callOf({ callId, principal, method, arguments: given }: RecordedCall, offer: Offer): Call {
  const args = (given ?? {}) as JsonObject
  return {
    id: callId,
    traceId: '',
    principal,
    method,
    offer,
    params: offer.kind === 'tool' ? { name: offer.name, arguments: args } : args,
    cancellation: new Cancellation(),
  }
}

interface GapContext {
  readonly gaps: ArgumentGaps
  readonly offer: Offer
  readonly rules: ToolRules
  readonly autoApprove: readonly AutoApproval[]
}

/** Whether a rule looks at something that the record does not tell. Where that cannot be said, it does. */
function dependsOnGaps(sight: GapContext): boolean {
  const { gaps, rules } = sight
  if (gaps.values === undefined && !gaps.isOpen) return false
  return pathRulesDepend(sight) || argumentRulesDepend(rules.policy, gaps) || autoApprovalDepends(sight)
}

function pathRulesDepend({ gaps, offer, rules: { policy } }: GapContext): boolean {
  const { allowedPaths, forbiddenPaths } = policy
  return allowedPaths.length + forbiddenPaths.length > 0 && mayMissPaths(gaps, offer, policy)
}

function mayMissPaths({ values, isOpen }: ArgumentGaps, offer: Offer, { pathArguments }: ToolPolicy): boolean {
  if (isOpen || offer.kind !== 'tool') return true
  return findPaths(asObject(values), offer.original.inputSchema, pathArguments).length > 0
}

function argumentRulesDepend(policy: ToolPolicy, { values, isOpen }: ArgumentGaps): boolean {
  return policy.arguments.some(({ value: { fields, denyPatterns } }) => {
    const names = Object.keys(fields)
    if (denyPatterns.length > 0 || (isOpen && names.length > 0)) return true
    // What these rules would forbid is what they look at.
    const looking = Object.fromEntries(names.map((name) => [name, { forbidden: true }]))
    return compileArgumentRules({ fields: looking, denyPatterns: [] }, { compilePattern })(asObject(values)) !== ALLOW
  })
}

/** What nobody has to be asked about may hang on arguments too. */
function autoApprovalDepends({ gaps, offer, rules, autoApprove }: GapContext): boolean {
  if (!rules.approval.value) return false
  if (rules.policy.unattendedPaths.length > 0 && mayMissPaths(gaps, offer, rules.policy)) return true
  return autoApprove.some((rule) => rule.paths !== undefined || rule.arguments !== undefined)
}

const asObject = (values: Json | undefined): JsonObject => (values ?? {}) as JsonObject
