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
  type Step,
  type StepName,
  type ToolPolicy,
  type Verdict,
} from '@sallyport/core'
import { type Catalog, type Offer, toResourceAddress } from '../catalog/catalog.ts'
import {
  type AutoApproval,
  type Environment,
  findPrivateRoute,
  findSelections,
  type Settings,
} from '../config/config.ts'
import { compilePattern, createServerPathContext, PUBLIC_LABEL } from '../governance/governance.ts'
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
  /** Replaces the mode in which each call was decided. */
  readonly mode?: Mode | undefined
  /** Checks arguments against a tool's input schema. */
  readonly check: (schema: JsonObject, args: JsonObject) => Verdict | Promise<Verdict>
}

/** What would be decided now, or why that cannot be known. */
export type ReplayedDecision =
  | {
      readonly outcome: Verdict['outcome']
      readonly step?: StepName | undefined
      readonly reason: string
      readonly rule?: RuleSource | undefined
    }
  | { readonly outcome: 'undecided'; readonly reason: string }

/** The rules in one mode. */
interface ModeRules {
  readonly rules: ActiveRules
  readonly listings: Listings
}

/** Without limits: records do not contain how many calls ran at the same time, or how often. */
const createSteps = ({ labels, servers }: Settings) =>
  callSteps({
    gauge: new CallGauge(() => Number.POSITIVE_INFINITY),
    tools: new ToolLimits(() => 0),
    approvals: { grantFor: () => undefined },
    labelSettings: () => labels,
    privateRouteOf: (id) =>
      findPrivateRoute(
        servers.find((server) => server.id === id),
        labels,
      ),
  })

/** Decides recorded calls again by other rules, with the same steps that decide live calls. */
export class CallReplayer {
  readonly #options: CallReplayerOptions
  readonly #rulesByMode = new Map<Mode, ModeRules>()
  readonly #steps: readonly Step<CallContext>[]

  constructor(options: CallReplayerOptions) {
    this.#options = options
    this.#steps = createSteps(options.settings)
  }

  async decide(recorded: RecordedCall): Promise<ReplayedDecision> {
    if (recorded.steps.limits === 'deny') return undecided('a limit refused it, and limits are not replayed')
    const offer = this.#findOffer(recorded)
    if (offer === undefined) return undecided('what it asked for is no longer known')
    const modeRules = this.#rulesFor(this.#options.mode ?? recorded.mode)
    const earlier = modeRules.listings.decisionFor(offer, recorded.principal)
    if (earlier.outcome === 'deny') return toReplayed(earlier)
    const gaps = findArgumentGaps(recorded.arguments)
    const checked = await this.#check(recorded, offer, gaps)
    if (checked === undefined) return undecided(NOT_RECORDED)
    const call = toCall(recorded, offer)
    const rules = modeRules.rules.rulesOf(offer)
    const subject: CallContext = {
      call,
      principal: call.principal,
      params: call.params,
      rules,
      checked,
      grant: undefined,
      ...restoreLabel(recorded),
    }
    const decision = decide(this.#steps, subject, earlier)
    if (decision.decisive?.step === 'validate') return toReplayed(decision)
    if (!rules.policy.enforce.value) return toReplayed(decision)
    const { autoApprove } = this.#options.settings.governance
    if (dependsOnGaps({ gaps, offer, rules, autoApprove })) return undecided(NOT_RECORDED)
    return this.#applySecretRule(decision, { recorded, gaps, subject })
  }

  /**
   * Assumes that a call that was allowed had no secret in its arguments, unless its record hides one. Every tool refuses
   * secrets, so without this assumption hardly any call could be decided.
   */
  #applySecretRule(decision: Decision, { recorded, gaps, subject }: SecretContext): ReplayedDecision {
    const { secrets } = subject.rules.policy
    const isComplete = gaps.values === undefined && !gaps.isOpen
    if (secrets.value !== 'refuse' || isComplete) return toReplayed(decision)
    if (recorded.error === 'SECRET_REFUSED') return SECRET
    const hasPassed = recorded.steps.arguments !== undefined && recorded.steps.arguments !== 'deny'
    return hasPassed && !gaps.hidSecret ? toReplayed(decision) : undecided(NOT_RECORDED)
  }

  /** A schema is not part of the policy, so its recorded verdict stays valid. `undefined`: it was not checked then, and cannot be now. */
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
    if (method === 'resources/read')
      return snapshot.resource(toResourceAddress(server, toolName)) ?? ofServer(snapshot.resource(toolName), server)
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
      worldOf: (server) => createServerPathContext(serverOf(server), environment),
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

const NOT_RECORDED = 'a rule checks arguments that its record does not contain'
const SECRET: ReplayedDecision = { outcome: 'deny', step: 'arguments', reason: 'Its arguments contained a secret.' }
const INVALID: Verdict = {
  outcome: 'deny',
  code: 'ARGUMENTS_INVALID',
  reason: 'Its arguments did not match the input schema.',
}

/** The record has the level of the label, and not what raised it. */
function restoreLabel({ label: sensitivity }: RecordedCall): Pick<CallContext, 'label' | 'holder' | 'seen'> {
  const label = sensitivity === undefined ? PUBLIC_LABEL : { ...PUBLIC_LABEL, sensitivity }
  return { label, holder: { current: label }, seen: label }
}

const undecided = (reason: string): ReplayedDecision => ({ outcome: 'undecided', reason })

function toReplayed({ outcome, verdicts, decisive }: Decision): ReplayedDecision {
  const relevant = decisive ?? verdicts.findLast(({ verdict }) => verdict.rule !== undefined)
  return { outcome, step: relevant?.step, reason: relevant?.verdict.reason ?? '', rule: relevant?.verdict.rule }
}

const ofServer = (offer: Offer | undefined, server: string): Offer | undefined =>
  offer?.server === server ? offer : undefined

function toCall({ callId, principal, method, arguments: given }: RecordedCall, offer: Offer): Call {
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

/** Whether a rule checks something that the record does not contain. If that is uncertain, the answer is yes. */
function dependsOnGaps(context: GapContext): boolean {
  const { gaps, rules } = context
  if (gaps.values === undefined && !gaps.isOpen) return false
  return pathRulesDepend(context) || argumentRulesDepend(rules.policy, gaps) || autoApprovalDepends(context)
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
    // Forbidding each field finds the values that these rules check.
    const forbidding = Object.fromEntries(names.map((name) => [name, { forbidden: true }]))
    return (
      compileArgumentRules({ fields: forbidding, denyPatterns: [] }, { compilePattern })(asObject(values)) !== ALLOW
    )
  })
}

/** Automatic approval may depend on arguments too. */
function autoApprovalDepends({ gaps, offer, rules, autoApprove }: GapContext): boolean {
  if (!rules.approval.value) return false
  if (rules.policy.unattendedPaths.length > 0 && mayMissPaths(gaps, offer, rules.policy)) return true
  return autoApprove.some((rule) => rule.paths !== undefined || rule.arguments !== undefined)
}

const asObject = (values: Json | undefined): JsonObject => (values ?? {}) as JsonObject
