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
import type { Call } from '../call.ts'
import type { Listings } from '../listings.ts'
import { governedOffer } from '../rules/governed-offer.ts'
import type { ToolRules } from '../rules/tool-rules.ts'
import type { CallContext } from './call-context.ts'
import { isMcpExec } from './meta-tools.ts'

export interface CallDeciderOptions {
  readonly listings: Listings
  readonly rulesOf: (offer: Offer) => ToolRules
  /** What a tool's input schema says to arguments. A schema that is more than plain is asked elsewhere. */
  readonly check: (schema: JsonObject, args: JsonObject) => Verdict | Promise<Verdict>
  readonly steps: readonly Step<CallContext>[]
}

/** What a call brings along that was judged before. */
type PriorFacts = Pick<CallContext, 'grant' | 'counted'>

const NO_PRIOR_FACTS: PriorFacts = Object.freeze({ grant: undefined })

/** A call that was judged. */
export interface JudgedCall {
  readonly context: CallContext
  readonly decision: Decision
  /** Of the rules by which it was. */
  readonly epoch: number
}

/** Decides about calls, starting from what listing decided. What is judged is the call that is meant. */
export class CallDecider {
  readonly #options: CallDeciderOptions
  readonly #runSteps: (subject: CallContext, listed: Decision) => Decision

  constructor(options: CallDeciderOptions) {
    this.#options = options
    this.#runSteps = compileSteps(options.steps)
  }

  /** At once where that can be. A bug of ours is told by a promise in any case. */
  decide(asked: Call, before = NO_PRIOR_FACTS): JudgedCall | Promise<JudgedCall> {
    try {
      return this.#decideCall(asked, before)
    } catch (bug) {
      return Promise.reject(bug)
    }
  }

  /** Of what is no call of a tool no schema has to be asked. */
  decideSync(asked: Call): JudgedCall {
    const { call, listingDecision } = resolveInnerCall(asked, this.#options.listings)
    return this.#applySteps({ call, checked: ALLOW, before: NO_PRIOR_FACTS }, listingDecision)
  }

  #decideCall(asked: Call, before: PriorFacts): JudgedCall | Promise<JudgedCall> {
    const { call, listingDecision } = resolveInnerCall(asked, this.#options.listings)
    const checked = listingDecision.outcome === 'deny' ? ALLOW : this.#checkSchema(call)
    if (!(checked instanceof Promise)) return this.#applySteps({ call, checked, before }, listingDecision)
    // Meanwhile the rules may have changed, and the schema itself.
    return checked.then((verdict) => {
      const current = this.#withCurrentOffer(asked)
      if (current !== asked) return this.#decideCall(current, before)
      const now = resolveInnerCall(asked, this.#options.listings)
      return this.#applySteps({ call: now.call, checked: verdict, before }, now.listingDecision)
    })
  }

  /** The same for a call that has waited: its server may have changed what it offers, and that is what would be called. */
  recheck(asked: Call, before: PriorFacts): JudgedCall | Promise<JudgedCall> {
    return this.decide(this.#withCurrentOffer(asked), before)
  }

  /** The very same while its server offers what it did. */
  #withCurrentOffer(asked: Call): Call {
    const { offer } = asked
    const now =
      offer.kind === 'tool' ? this.#options.listings.toolOf({ server: offer.server, tool: offer.name }) : offer
    return now && now !== offer ? { ...asked, offer: now } : asked
  }

  /** Whether what was decided would be decided again. */
  isStillValid({ epoch }: JudgedCall): boolean {
    return epoch === this.#options.listings.epoch
  }

  #applySteps(
    { call, checked, before }: Pick<CallContext, 'call' | 'checked'> & { before: PriorFacts },
    listed: Decision,
  ): JudgedCall {
    const { principal, params } = call
    const { grant, counted } = before
    const subject = { call, principal, params, rules: this.#options.rulesOf(call.offer), checked, grant, counted }
    return { context: subject, decision: this.#runSteps(subject, listed), epoch: this.#options.listings.epoch }
  }

  #checkSchema({ method, offer, params }: Call): Verdict | Promise<Verdict> {
    if (method !== 'tools/call' || offer.kind !== 'tool') return ALLOW
    const { inputSchema } = offer.original
    return this.#options.check(inputSchema as JsonObject, (params.arguments ?? {}) as JsonObject)
  }
}

/** What is judged and recorded, with the part of the decision that listing made. */
interface ResolvedCall {
  readonly call: Call
  readonly listingDecision: Decision
}

/** What is known without a call. */
interface CallLookup {
  decisionFor(offer: Offer, principal: Call['principal']): Decision
  runsDockerGateway(server: string): boolean
  toolOf(ref: ToolRef): Offer | undefined
}

/**
 * The call that is meant. `mcp-exec` of a Docker MCP Gateway carries the name and the arguments of another tool: then
 * that one is judged and recorded, if `mcp-exec` is open at all, while the server gets what was asked.
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
  if (tool === undefined) {
    const reason = `${offer.name} asks for the tool ${shown(inner.name)}, which server ${offer.server} does not list.`
    return { call, listingDecision: refused(listingDecision, reason) }
  }
  const { arguments: _, ...rest } = call.params
  const params = { ...rest, ...inner }
  return { call: { ...call, offer: tool, params }, listingDecision: known.decisionFor(tool, principal) }
}

interface InnerCall {
  readonly name: string
  readonly arguments?: JsonObject
}

/** What stands inside, or why that cannot be told with certainty. */
function parseInnerCall(args: Json | undefined): InnerCall | string {
  if (!isJsonObject(args)) return 'takes the name of a tool and its arguments.'
  // Go takes "Name" for "name", and the last of them counts: it would run another tool than the one that was judged.
  const stray = Object.keys(args).find((key) => key !== 'name' && key !== 'arguments')
  if (stray !== undefined) return `takes "name" and "arguments" and nothing else; got ${shown(stray)}.`
  const { name, arguments: inner } = args
  if (typeof name !== 'string') return 'takes the name of a tool as a text.'
  // Docker trims the name; the catalogue does not.
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
