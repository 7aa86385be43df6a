import {
  ALLOW,
  Cancellation,
  canonicalName,
  type Decision,
  decide,
  type JsonObject,
  type Mode,
  type RuleSource,
  type StepName,
  type ToolsFile,
  type Verdict,
} from '@sallyport/core'
import type { Catalog, Offer } from '../catalog/catalog.ts'
import { choicesFor, type Environment, type Settings } from '../config/config.ts'
import { serverPathWorld } from '../governance/governance.ts'
import {
  type Call,
  CallGauge,
  type Case,
  callSteps,
  Listings,
  listingSteps,
  RuleBook,
  runsDockerGateway,
  serverRules,
  ToolLimits,
} from '../pipeline/pipeline.ts'
import { looksIntoGap } from './gap-sight.ts'
import { type KeptGaps, keptGaps } from './kept-gaps.ts'
import type { RecordedCall } from './recorded-call.ts'

export interface RetrialOptions {
  readonly catalog: Catalog
  readonly settings: Settings
  readonly tools: ToolsFile
  readonly environment: Environment
  /** In place of the one in which each call was decided. */
  readonly mode?: Mode | undefined
  /** What a tool's input schema says to arguments. */
  readonly check: (schema: JsonObject, args: JsonObject) => Verdict | Promise<Verdict>
}

/** What would be decided now, or why that cannot be told. */
export type Retried =
  | {
      readonly outcome: Verdict['outcome']
      readonly step?: StepName | undefined
      readonly reason: string
      readonly rule?: RuleSource | undefined
    }
  | { readonly outcome: 'undecided'; readonly reason: string }

/** The steps of calls, in one mode. */
interface Court {
  readonly rules: RuleBook
  readonly listings: Listings
}

/** How many calls there were at once, and how often, no record tells. */
const STEPS = callSteps({
  gauge: new CallGauge(() => Number.POSITIVE_INFINITY),
  tools: new ToolLimits(() => 0),
  approvals: { grantFor: () => undefined },
})

/** Decides recorded calls again, by other rules, with the very steps that decide calls. */
export class Retrial {
  readonly #options: RetrialOptions
  readonly #courts = new Map<Mode, Court>()

  constructor(options: RetrialOptions) {
    this.#options = options
  }

  async judge(recorded: RecordedCall): Promise<Retried> {
    if (recorded.steps.limits === 'deny') return undecided('it was too much at once, and limits are not replayed')
    const offer = this.#offerOf(recorded)
    if (offer === undefined) return undecided('what it asked for is not known any more')
    const court = this.#courtFor(this.#options.mode ?? recorded.mode)
    const earlier = court.listings.decisionFor(offer, recorded.principal)
    if (earlier.outcome === 'deny') return retried(earlier)
    const gaps = keptGaps(recorded.arguments)
    const checked = await this.#check(recorded, offer, gaps)
    if (checked === undefined) return undecided(UNTOLD)
    const call = callOf(recorded, offer)
    const rules = court.rules.rulesOf(offer)
    const subject: Case = { call, principal: call.principal, params: call.params, rules, checked, grant: undefined }
    const decision = decide(STEPS, subject, earlier)
    if (decision.decisive?.step === 'validate') return retried(decision)
    if (!rules.policy.enforce.value) return retried(decision)
    const { autoApprove } = this.#options.settings.governance
    if (looksIntoGap({ gaps, offer, rules, autoApprove })) return undecided(UNTOLD)
    return this.#mindSecrets(decision, { recorded, gaps, subject })
  }

  /**
   * What was let through is taken to hold no secret, unless its record hides one: every tool refuses secrets, and else
   * hardly any call could be decided.
   */
  #mindSecrets(decision: Decision, { recorded, gaps, subject }: Hearing): Retried {
    const { secrets } = subject.rules.policy
    const isWhole = gaps.values === undefined && !gaps.isOpen
    if (secrets.value !== 'refuse' || isWhole) return retried(decision)
    if (recorded.error === 'SECRET_REFUSED') return SECRET
    const hasPassed = recorded.steps.arguments !== undefined && recorded.steps.arguments !== 'deny'
    return hasPassed && !gaps.hidSecret ? retried(decision) : undecided(UNTOLD)
  }

  /** A schema is no matter of policy: what it said then holds. Undefined: it was not asked, and cannot be now. */
  async #check({ steps, method, arguments: given }: RecordedCall, offer: Offer, gaps: KeptGaps) {
    if (steps.validate === 'deny') return INVALID
    if (steps.validate !== undefined || method !== 'tools/call') return ALLOW
    if (gaps.isOpen || gaps.values !== undefined) return undefined
    return this.#options.check(offer.original.inputSchema as JsonObject, given as JsonObject)
  }

  #offerOf({ server, method, toolName }: RecordedCall): Offer | undefined {
    const { snapshot } = this.#options.catalog
    if (method === 'prompts/get')
      return snapshot.prompts.find((offer) => offer.server === server && offer.recordName === toolName)
    if (method === 'resources/read') return ofServer(snapshot.resource(toolName), server)
    const head = canonicalName({ server, tool: '' })
    return toolName.startsWith(head) ? snapshot.toolOf({ server, tool: toolName.slice(head.length) }) : undefined
  }

  #courtFor(mode: Mode): Court {
    const known = this.#courts.get(mode) ?? this.#open(mode)
    this.#courts.set(mode, known)
    return known
  }

  #open(mode: Mode): Court {
    const { catalog, settings, tools, environment } = this.#options
    const serverOf = (id: string) => settings.servers.find((server) => server.id === id)
    const rules = new RuleBook({
      catalog,
      file: () => tools,
      flaw: () => undefined,
      settings: () => settings.governance,
      mode: () => ({ mode }),
      isTrusted: (server) => serverOf(server)?.trusted ?? false,
      isDockerGateway: (server) => runsDockerGateway(serverOf(server)),
      worldOf: (server) => serverPathWorld(serverOf(server), environment),
    })
    const { policyOf, modeState } = rules
    const rulesOf = serverRules(() => settings.servers)
    const steps = listingSteps(modeState)
    const listings = new Listings({
      ...{ catalog, steps, rulesOf, policyOf },
      choicesFor: (principal) => choicesFor(settings.profiles, principal),
      pinned: () => undefined,
    })
    return { rules, listings }
  }
}

interface Hearing {
  readonly recorded: RecordedCall
  readonly gaps: KeptGaps
  readonly subject: Case
}

const UNTOLD = 'a rule looks at arguments that its record does not tell'
const SECRET: Retried = { outcome: 'deny', step: 'arguments', reason: 'Its arguments held a secret.' }
const INVALID: Verdict = { outcome: 'deny', code: 'ARGUMENTS_INVALID', reason: 'Its arguments were not what it takes.' }

const undecided = (reason: string): Retried => ({ outcome: 'undecided', reason })

function retried({ outcome, verdicts, decisive }: Decision): Retried {
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
