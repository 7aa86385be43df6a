import {
  ALLOW,
  type CompiledSelectors,
  compileSelectors,
  type PolicyValue,
  type Principal,
  type Selection,
  type Step,
  type ToolPolicy,
  type ToolRef,
  type Verdict,
} from '@sallyport/core'
import type { Catalog, CatalogSnapshot, Offer } from '../../catalog/catalog.ts'
import type { ToolSelection } from '../../config/config.ts'
import { isClosedMetaTool } from './meta-tools.ts'

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

/** A list of selectors made ready for what is on offer now. */
export interface CompiledChoice extends CompiledSelectors {
  readonly choice: ToolSelection
}

export interface ToolChoicesOptions {
  readonly catalog: Catalog
  /** All lists of selectors that count for a caller. */
  readonly choicesFor: (principal: Principal) => readonly ToolSelection[]
}

interface Compiled {
  readonly snapshot: CatalogSnapshot
  readonly tools: readonly ToolRef[]
  /** By the list itself: the same one may count for very many callers. */
  readonly bySelectors: WeakMap<readonly string[], CompiledSelectors>
}

/** What profiles and launches select, compiled once for each list and each state of the catalogue. */
export class ToolChoices {
  readonly #options: ToolChoicesOptions
  #compiled: Compiled | undefined

  constructor(options: ToolChoicesOptions) {
    this.#options = options
  }

  of(principal: Principal): readonly CompiledChoice[] {
    return this.#options.choicesFor(principal).map((choice) => ({ ...this.compile(choice.selectors), choice }))
  }

  compile(selectors: readonly string[] | undefined): CompiledSelectors {
    if (selectors === undefined) return compileSelectors(undefined, [])
    const { snapshot, tools, bySelectors } = this.#current()
    const known = bySelectors.get(selectors)
    if (known) return known
    const { servers } = this.#options.catalog
    const wireName = (ref: ToolRef): string | undefined => snapshot.toolNames.wireName(ref)
    const compiled = compileSelectors(selectors, tools, { servers, wireName })
    bySelectors.set(selectors, compiled)
    return compiled
  }

  #current(): Compiled {
    const { snapshot } = this.#options.catalog
    if (this.#compiled?.snapshot === snapshot) return this.#compiled
    const tools = snapshot.tools.map(({ server, name }) => ({ server, tool: name }))
    this.#compiled = { snapshot, tools, bySelectors: new WeakMap() }
    return this.#compiled
  }
}
