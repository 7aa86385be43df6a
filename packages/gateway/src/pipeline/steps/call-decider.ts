import {
  ALLOW,
  compileSteps,
  cutText,
  type Decision,
  decide,
  isJsonObject,
  type Json,
  type JsonObject,
  type Step,
  type ToolRef,
  toVisibleText,
  type Verdict,
} from '@sallyport/core'
import type { Offer } from '../../catalog/catalog.ts'
import { type LabelHolder, PUBLIC_LABEL, type SessionLabels } from '../../governance/governance.ts'
import type { Call } from '../call.ts'
import type { Listings } from '../listings.ts'
import { governedOffer } from '../rules/governed-offer.ts'
import type { ToolRules } from '../rules/tool-rules.ts'
import type { CallContext } from './call-context.ts'
import { isMcpExec } from './meta-tools.ts'

export interface CallDeciderOptions {
  readonly listings: Listings
  readonly rulesOf: (offer: Offer) => ToolRules
  /** Checks arguments against a tool's input schema. A complex schema is checked in another thread. */
  readonly check: (schema: JsonObject, args: JsonObject) => Verdict | Promise<Verdict>
  readonly steps: readonly Step<CallContext>[]
  /** The labels of sessions. If missing, every session is PUBLIC. */
  readonly labels?: Pick<SessionLabels, 'find' | 'load'> | undefined
}

const PUBLIC_HOLDER: LabelHolder = Object.freeze({ current: PUBLIC_LABEL })

/** Facts from an earlier decision about the same call. */
type PriorFacts = Pick<CallContext, 'grant' | 'counted' | 'raised'>

const NO_PRIOR_FACTS: PriorFacts = Object.freeze({ grant: undefined })

/** A call with the decision about it. */
export interface JudgedCall {
  readonly context: CallContext
  readonly decision: Decision
  /** The epoch of the rules that were used. */
  readonly epoch: number
  /** How long it took to decide, in milliseconds; with the time in which a schema was checked in another thread. */
  readonly took: number
}

interface UndecidedCall extends Pick<CallContext, 'call' | 'holder' | 'checked'> {
  readonly before: PriorFacts
  /** By `performance.now()`. */
  readonly begun: number
}

/** Decides about calls, starting from the decision for lists. If a call contains another one (mcp-exec), it decides about the inner call. */
export class CallDecider {
  readonly #options: CallDeciderOptions
  readonly #runSteps: (subject: CallContext, listed: Decision) => Decision

  constructor(options: CallDeciderOptions) {
    this.#options = options
    this.#runSteps = compileSteps(options.steps)
  }

  /** Returns a value if no schema has to be checked elsewhere. A bug is always a rejected promise. */
  decide(asked: Call, before = NO_PRIOR_FACTS): JudgedCall | Promise<JudgedCall> {
    try {
      return this.#decideCall(asked, before, performance.now())
    } catch (bug) {
      return Promise.reject(bug)
    }
  }

  /** For requests that are not tool calls: no schema has to be checked. */
  decideSync(asked: Call): JudgedCall {
    const { call, listingDecision } = resolveInnerCall(asked, this.#options.listings)
    const holder = this.#holderOf(asked) ?? PUBLIC_HOLDER
    const subject = { call, holder, checked: ALLOW, before: NO_PRIOR_FACTS, begun: performance.now() }
    return this.#applySteps(subject, listingDecision)
  }

  /** Whose label decides about the call; `undefined` if it must be loaded first. */
  #holderOf({ holder, principal }: Call): LabelHolder | undefined {
    const { labels } = this.#options
    return holder ?? (labels === undefined ? PUBLIC_HOLDER : labels.find(principal))
  }

  async #loadLabel(asked: Call, before: PriorFacts, begun: number): Promise<JudgedCall> {
    await this.#options.labels?.load(asked.principal)
    return this.#decideCall(this.#withCurrentOffer(asked), before, begun)
  }

  #decideCall(asked: Call, before: PriorFacts, begun: number): JudgedCall | Promise<JudgedCall> {
    const holder = this.#holderOf(asked)
    if (holder === undefined) return this.#loadLabel(asked, before, begun)
    const { call, listingDecision } = resolveInnerCall(asked, this.#options.listings)
    const checked = listingDecision.outcome === 'deny' ? ALLOW : this.#checkSchema(call)
    if (!(checked instanceof Promise))
      return this.#applySteps({ call, holder, checked, before, begun }, listingDecision)
    // Meanwhile the rules, or the schema itself, may have changed.
    return checked.then((verdict) => {
      const current = this.#withCurrentOffer(asked)
      if (current !== asked) return this.#decideCall(current, before, begun)
      const now = resolveInnerCall(asked, this.#options.listings)
      return this.#applySteps({ call: now.call, holder, checked: verdict, before, begun }, now.listingDecision)
    })
  }

  /** Decides again about a call that has waited. Its server may have changed the tool, so the current offer is used. */
  recheck(asked: Call, before: PriorFacts): JudgedCall | Promise<JudgedCall> {
    return this.decide(this.#withCurrentOffer(asked), before)
  }

  /** The call with the current offer. It is the same object if the offer did not change. */
  #withCurrentOffer(asked: Call): Call {
    const { offer } = asked
    const now =
      offer.kind === 'tool' ? this.#options.listings.toolOf({ server: offer.server, tool: offer.name }) : offer
    return now && now !== offer ? { ...asked, offer: now } : asked
  }

  /** Whether nothing has changed since the decision. */
  isStillValid({ epoch, context: { holder, seen } }: JudgedCall): boolean {
    return epoch === this.#options.listings.epoch && holder.current === seen
  }

  #applySteps({ call, holder, checked, before, begun }: UndecidedCall, listed: Decision): JudgedCall {
    const { principal, params } = call
    const { grant, counted, raised } = before
    const seen = holder.current
    const label = raised?.to === seen ? raised.from : seen
    const rules = this.#options.rulesOf(call.offer)
    // Written out: this runs for every call.
    const subject = { call, principal, params, rules, checked, grant, label, holder, seen, raised, counted }
    const decision = this.#runSteps(subject, listed)
    return { context: subject, decision, epoch: this.#options.listings.epoch, took: performance.now() - begun }
  }

  #checkSchema({ method, offer, params }: Call): Verdict | Promise<Verdict> {
    if (method !== 'tools/call' || offer.kind !== 'tool') return ALLOW
    const { inputSchema } = offer.original
    return this.#options.check(inputSchema as JsonObject, (params.arguments ?? {}) as JsonObject)
  }
}

/** The call that is decided about and recorded, with the decision for lists. */
interface ResolvedCall {
  readonly call: Call
  readonly listingDecision: Decision
}

/** Lookups that do not depend on a call. */
interface CallLookup {
  decisionFor(offer: Offer, principal: Call['principal']): Decision
  runsDockerGateway(server: string): boolean
  toolOf(ref: ToolRef): Offer | undefined
}

/**
 * Resolves the call to decide about. `mcp-exec` of a Docker MCP Gateway contains the name and the arguments of another
 * tool. If `mcp-exec` is allowed, that inner call is decided about and recorded, while the server gets the outer one.
 */
function resolveInnerCall(asked: Call, known: CallLookup): ResolvedCall {
  const { principal } = asked
  const offer = governedOffer(asked)
  const call = offer === asked.offer ? asked : { ...asked, offer }
  const listingDecision = known.decisionFor(offer, principal)
  const isWrapping = offer.kind === 'tool' && known.runsDockerGateway(offer.server) && isMcpExec(offer.name)
  if (!isWrapping || listingDecision.outcome === 'deny') return { call, listingDecision }
  const inner = parseInnerCall(call.params.arguments)
  if (typeof inner === 'string') return { call, listingDecision: refused(listingDecision, `${offer.name} ${inner}`) }
  const tool = known.toolOf({ server: offer.server, tool: inner.name })
  // Nobody checked whether the connection of this client has a tool that only some clients see.
  if (tool === undefined || tool.isRevealed) {
    const reason = `${offer.name} asks for the tool ${shown(inner.name)}, which server ${offer.server} does not list.`
    return { call, listingDecision: refused(listingDecision, reason) }
  }
  const { arguments: outer, ...rest } = call.params
  const params = { ...rest, ...inner }
  const written = call.written ?? outer
  return { call: { ...call, offer: tool, params, written }, listingDecision: known.decisionFor(tool, principal) }
}

interface InnerCall {
  readonly name: string
  readonly arguments?: JsonObject
}

/** The inner call, or why it cannot be determined with certainty. */
function parseInnerCall(args: Json | undefined): InnerCall | string {
  if (!isJsonObject(args)) return 'takes the name of a tool and its arguments.'
  // Go reads "Name" as "name" and uses the last one: it would run another tool than the one that was checked.
  const unexpected = Object.keys(args).find((key) => key !== 'name' && key !== 'arguments')
  if (unexpected !== undefined) return `takes "name" and "arguments" and nothing else; got ${shown(unexpected)}.`
  const { name, arguments: inner } = args
  if (typeof name !== 'string') return 'takes the name of a tool as a string.'
  // Docker trims the name; the catalog does not.
  if (!/^[\x21-\x7e]+$/.test(name)) return `takes the exact name of a tool; got ${shown(name)}.`
  if (isMcpExec(name)) return 'may not run itself.'
  if (inner !== undefined && !isJsonObject(inner)) return 'takes the arguments of the tool as an object.'
  return { name, ...(inner && { arguments: inner }) }
}

function refused(earlier: Decision, reason: string): Decision {
  const verdict: Verdict = { outcome: 'deny', code: 'CALL_DENIED', reason }
  return decide([{ name: 'select', evaluate: () => verdict }], undefined, { ...earlier, verdicts: [] })
}

const shown = (text: string): string => JSON.stringify(toVisibleText(cutText(text, 100)))
