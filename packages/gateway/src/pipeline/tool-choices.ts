import { type CompiledSelectors, compileSelectors, type Principal, type ToolRef } from '@sallyport/core'
import type { Catalog, CatalogSnapshot } from '../catalog/catalog.ts'
import type { ToolSelection } from '../config/config.ts'

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
