import { isolatedName, type SallyportEvent, toVisibleText } from '@sallyport/core'
import { type Catalog, type CounterpartDrift, findCounterpartDrift } from '../catalog/catalog.ts'
import type { ServerCatalog, Upstream } from '../upstream/upstream.ts'

export interface CounterpartListsOptions {
  readonly catalog: Catalog
  readonly find: (server: string) => Upstream | undefined
  /** Offers these lists as those of the server. */
  readonly list: (server: string, isolated: ServerCatalog) => void
  readonly onWarning: (text: string) => void
  readonly record: (event: SallyportEvent) => void
}

/** Names in one warning, and in one record. */
const MAX_SHOWN = 10
const MAX_RECORDED = 100

const NO_DRIFT: CounterpartDrift = { missing: [], differing: [] }

/** Compares the lists of isolated instances with those that are offered, which are the lists of normal instances. */
export class CounterpartLists {
  readonly #options: CounterpartListsOptions
  /** Servers whose normal instance was never reached: what they offer is what their isolated instance lists. */
  readonly #listedByIsolated = new Set<string>()
  /** By server: how its isolated instance differed at the last report, as JSON. */
  readonly #reported = new Map<string, string>()

  constructor(options: CounterpartListsOptions) {
    this.#options = options
  }

  normalListed(server: string): void {
    this.#listedByIsolated.delete(server)
    this.compare(server)
  }

  /** The isolated instance was listed, or the state of the normal one changed. */
  compare(server: string): void {
    const { catalog, find, list } = this.#options
    const upstream = find(server)
    const isolated = upstream?.counterpart?.catalog
    // What is offered may be the catalog of the last run: the normal instance will show what it has now.
    if (upstream === undefined || isolated === undefined || upstream.status().state === 'starting') return
    const listed = catalog.serverCatalog(server)
    const isAlone = listed === undefined || this.#listedByIsolated.has(server)
    if (!isAlone) return this.#report(server, findCounterpartDrift(listed, isolated))
    this.#listedByIsolated.add(server)
    list(server, isolated)
  }

  #report(server: string, drift: CounterpartDrift | undefined): void {
    const { missing, differing } = drift ?? NO_DRIFT
    const [before, now] = [this.#reported.get(server), JSON.stringify([missing, differing])]
    if (now === before || (before === undefined && drift === undefined)) return
    this.#reported.set(server, now)
    this.#options.record({
      type: 'COUNTERPART_DRIFTED',
      server,
      missing: missing.slice(0, MAX_RECORDED),
      differing: differing.slice(0, MAX_RECORDED),
    })
    if (drift) this.#options.onWarning(describeDrift(server, drift))
  }
}

function describeDrift(server: string, { missing, differing }: CounterpartDrift): string {
  const parts = [
    ...(missing.length > 0 ? [`it does not offer ${listNames(missing)}`] : []),
    ...(differing.length > 0 ? [`it has other definitions of ${listNames(differing)}`] : []),
  ]
  const effect = 'Sessions with private data cannot call these tools.'
  return `${isolatedName(server)} differs from the normal instance: ${parts.join('; ')}. ${effect}`
}

function listNames(names: readonly string[]): string {
  const shown = names.slice(0, MAX_SHOWN).map(toVisibleText).join(', ')
  return names.length > MAX_SHOWN ? `${shown} and ${names.length - MAX_SHOWN} more` : shown
}
