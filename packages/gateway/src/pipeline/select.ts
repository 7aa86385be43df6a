import { ALLOW, type PolicyValue, type Selection, type Step, type ToolPolicy, type Verdict } from '@sallyport/core'
import type { Offer } from '../catalog/catalog.ts'
import { isClosedMetaTool } from './meta-tools.ts'
import type { CompiledChoice } from './tool-choices.ts'

/** What a list and a call both ask about: a thing on offer, and what its server's entry and the caller's profile leave of it. */
export interface ListingContext {
  readonly offer: Offer
  readonly selection: Selection
  readonly named: ReadonlySet<string>
  readonly isDockerGateway: boolean
  /** What the caller's profile and launch select; all of them must. */
  readonly choices: readonly CompiledChoice[]
  /** Whether entry and profile leave any tool of the server, where it has tools at all. */
  readonly hasTools: boolean
  readonly location: { readonly file: string; readonly line: number } | undefined
  readonly policy: ToolPolicy
}

/**
 * `hidden`, the server's own `includeTools` and `excludeTools`, and what the caller's profile selects. Where no tool is
 * left, nothing else of the server is either.
 */
export const selectStep: Step<ListingContext> = { name: 'select', evaluate: checkSelection }

function checkSelection(listed: ListingContext): Verdict {
  const { offer, selection, hasTools, policy } = listed
  if (policy.hidden.value) return hidden(policy)
  if (policy.misspelt) return misspelt(policy.misspelt)
  if (offer.kind !== 'tool') return hasTools ? ALLOW : noToolLeft(listed)
  if (!selection(offer.name)) return denial(listed, 'does not include this tool')
  if (isClosedMetaTool(offer.name, listed)) return denial(listed, closedText(offer.name))
  const ref = { server: offer.server, tool: offer.name }
  const unwilling = listed.choices.find((one) => !one.includes(ref))
  return unwilling ? notSelected(unwilling, `the tool ${offer.server}/${offer.name}`) : ALLOW
}

function noToolLeft(listed: ListingContext): Verdict {
  const { server } = listed.offer
  const unwilling = listed.choices.find((one) => !one.includesServer(server)) ?? listed.choices.at(-1)
  return unwilling ? notSelected(unwilling, `any tool of ${server}`) : denial(listed, 'includes none of its tools')
}

function notSelected({ choice: { whose, place } }: CompiledChoice, what: string): Verdict {
  const reason = `${whose} does not select ${what}.`
  return { outcome: 'deny', code: 'CALL_DENIED', reason, ...(place && { rule: place }) }
}

function hidden({ hidden: { reason, rule } }: ToolPolicy): Verdict {
  const why = rule?.line ? 'Its entry says hidden: true.' : reason
  return { outcome: 'deny', code: 'CALL_DENIED', reason: why, ...(rule && { rule }) }
}

function misspelt({ value, rule }: PolicyValue<string>): Verdict {
  const reason = `Its entry has to be corrected first: ${value}`
  return { outcome: 'deny', code: 'CALL_DENIED', reason, ...(rule && { rule }) }
}

function denial({ offer, location }: ListingContext, what: string): Verdict {
  const reason = `The entry of server ${offer.server} ${what}.`
  return { outcome: 'deny', code: 'CALL_DENIED', reason, ...(location && { rule: location }) }
}

const closedText = (name: string): string =>
  `does not open ${name}, a tool of the Docker MCP Gateway itself that could reach past the rules for others; to open it, name it in includeTools, as ["*", "${name}"]`
