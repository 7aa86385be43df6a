import { ALLOW, type Selection, type Step, type ToolPolicy, type Verdict } from '@sallyport/core'
import type { Offer } from '../catalog/catalog.ts'
import { isClosed } from './meta-tools.ts'

/** What a list and a call both ask about: a thing on offer, and what its server's entry leaves of it. */
export interface Listed {
  readonly offer: Offer
  readonly selection: Selection
  readonly named: ReadonlySet<string>
  readonly isDockerGateway: boolean
  /** Whether the entry leaves any tool of the server, where it has tools at all. */
  readonly leavesTools: boolean
  readonly place: { readonly file: string; readonly line: number } | undefined
  readonly policy: ToolPolicy
}

/** `hidden`, and the server's own `includeTools` and `excludeTools`. Where no tool is left, nothing else of it is either. */
export const select: Step<Listed> = { name: 'select', judge: judgeSelection }

function judgeSelection(listed: Listed): Verdict {
  const { offer, selection, leavesTools, policy } = listed
  if (policy.hidden.value) return hidden(policy)
  if (offer.kind !== 'tool') return leavesTools ? ALLOW : denial(listed, 'includes none of its tools')
  if (!selection(offer.name)) return denial(listed, 'does not include this tool')
  return isClosed(offer.name, listed) ? denial(listed, closedText(offer.name)) : ALLOW
}

function hidden({ hidden: { reason, rule } }: ToolPolicy): Verdict {
  const why = rule?.line ? 'Its entry says hidden: true.' : reason
  return { outcome: 'deny', code: 'CALL_DENIED', reason: why, ...(rule && { rule }) }
}

function denial({ offer, place }: Listed, what: string): Verdict {
  const reason = `The entry of server ${offer.server} ${what}.`
  return { outcome: 'deny', code: 'CALL_DENIED', reason, ...(place && { rule: place }) }
}

const closedText = (name: string): string =>
  `does not open ${name}, a tool of the Docker MCP Gateway itself that could reach past the rules for others; to open it, name it in includeTools, as ["*", "${name}"]`
