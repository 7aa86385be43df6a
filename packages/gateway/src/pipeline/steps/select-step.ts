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

/** The input of the steps for lists and calls: an offer, and what its server's entry and the caller's profile select. */
export interface ListingContext {
  readonly offer: Offer
  readonly selection: Selection
  readonly named: ReadonlySet<string>
  readonly isDockerGateway: boolean
  /** The selections of the caller's profile and launch. All of them must include the offer. */
  readonly choices: readonly CompiledChoice[]
  /** Whether entry and profile select any tool of the server; true for a selected server without tools. */
  readonly hasTools: boolean
  readonly location: { readonly file: string; readonly line: number } | undefined
  readonly policy: ToolPolicy
}

/**
 * Checks `hidden`, the `includeTools` and `excludeTools` of the server, and the selection of the caller's profile. If no
 * tool of a server is selected, its other offers are not either.
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
  const excluding = listed.choices.find((one) => !one.includes(ref))
  return excluding ? notSelected(excluding, `the tool ${offer.server}/${offer.name}`) : ALLOW
}

function noToolLeft(listed: ListingContext): Verdict {
  const { server } = listed.offer
  const excluding = listed.choices.find((one) => !one.includesServer(server)) ?? listed.choices.at(-1)
  return excluding ? notSelected(excluding, `any tool of ${server}`) : denial(listed, 'includes none of its tools')
}

function notSelected({ choice: { whose, location: rule } }: CompiledChoice, what: string): Verdict {
  const reason = `${whose} does not select ${what}.`
  return { outcome: 'deny', code: 'CALL_DENIED', reason, ...(rule && { rule }) }
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
  `does not open ${name}, a tool of the Docker MCP Gateway itself that could bypass the rules for other tools; to open it, name it in includeTools, as ["*", "${name}"]`

/** A selector list, compiled for the current catalog. */
export interface CompiledChoice extends CompiledSelectors {
  readonly choice: ToolSelection
}

export interface ToolChoicesOptions {
  readonly catalog: Catalog
  /** All selector lists that apply to a caller. */
  readonly choicesFor: (principal: Principal) => readonly ToolSelection[]
}

interface Compiled {
  readonly snapshot: CatalogSnapshot
  readonly tools: readonly ToolRef[]
  /** By list object: the same list may apply to very many callers. */
  readonly bySelectors: WeakMap<readonly string[], CompiledSelectors>
}

/** The selections of profiles and launches, compiled once for each list and catalog snapshot. */
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
    const tools = snapshot.allTools.map(({ server, name }) => ({ server, tool: name }))
    this.#compiled = { snapshot, tools, bySelectors: new WeakMap() }
    return this.#compiled
  }
}
