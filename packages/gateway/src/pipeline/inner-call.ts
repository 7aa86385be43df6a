import {
  cutText,
  type Decision,
  decide,
  isJsonObject,
  type Json,
  type JsonObject,
  type ToolRef,
  toVisibleText,
  type Verdict,
} from '@sallyport/core'
import type { Offer } from '../catalog/catalog.ts'
import type { Call } from './call.ts'
import { governedOffer } from './governed-offer.ts'
import { isMcpExec } from './meta-tools.ts'

/** What is judged and recorded, with the part of the decision that listing made. */
export interface ResolvedCall {
  readonly call: Call
  readonly listingDecision: Decision
}

/** What is known without a call. */
export interface CallLookup {
  decisionFor(offer: Offer, principal: Call['principal']): Decision
  runsDockerGateway(server: string): boolean
  toolOf(ref: ToolRef): Offer | undefined
}

/**
 * The call that is meant. `mcp-exec` of a Docker MCP Gateway carries the name and the arguments of another tool: then
 * that one is judged and recorded, if `mcp-exec` is open at all, while the server gets what was asked.
 */
export function resolveInnerCall(asked: Call, known: CallLookup): ResolvedCall {
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
