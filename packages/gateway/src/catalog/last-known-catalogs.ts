import { createHash } from 'node:crypto'
import { type Json, sameExactJson } from '@sallyport/core'
import { imageOf, type ServerConfig } from '../config/config.ts'
import type { CatalogCache } from '../store/store.ts'
import type { LastKnownServer, ServerCatalog } from '../upstream/upstream.ts'
import { formatCatalog, parseCatalog } from './catalog-format.ts'

/** The catalogs of the last run, stored so that a start need not wait for the servers. */
export class LastKnownCatalogs {
  readonly #cache: CatalogCache
  /** By server: the text that is in the cache. */
  readonly #stored = new Map<string, StoredEntry>()

  constructor(cache: CatalogCache) {
    this.#cache = cache
  }

  lastKnown(server: string): LastKnownServer | undefined {
    return this.#stored.get(server)?.catalog
  }

  load(config: ServerConfig): ServerCatalog | undefined {
    const source = fingerprint(config)
    const text = this.#cache.load(config.id, source)
    if (text === undefined) return undefined
    const stored = parseCatalog(text)
    if (stored === undefined) return undefined
    const { catalog, isComplete } = stored
    this.#stored.set(config.id, { catalog, ...(isComplete && { source }) })
    return catalog
  }

  save(config: ServerConfig, catalog: ServerCatalog): void {
    const source = fingerprint(config)
    const stored = this.#stored.get(config.id)
    this.#stored.set(config.id, { source, catalog })
    if (stored?.source === source && sameCatalog(stored.catalog, catalog)) return
    this.#cache.save(config.id, source, formatCatalog(catalog))
  }
}

interface StoredEntry {
  /** The fingerprint of the server that reported it; `undefined` if it must be written again. */
  readonly source?: string
  readonly catalog: ServerCatalog
}

function sameCatalog(one: ServerCatalog, other: ServerCatalog): boolean {
  const parts = new Set([...Object.keys(one), ...Object.keys(other)]) as Set<keyof ServerCatalog>
  // The lifetime of lists is not stored: servers report it each time, and a start reads the lists in any case.
  parts.delete('freshUntil')
  // What single conversations see belongs to them.
  parts.delete('revealed')
  return [...parts].every((part) => sameExactJson(one[part] as Json, other[part] as Json))
}

/** Another program or address is another server, even with the same id. Secrets are not part of the fingerprint. */
function fingerprint(config: ServerConfig): string {
  const what =
    'command' in config
      ? [config.command, config.args, config.cwd, ...(imageOf(config) === undefined ? [] : [imageOf(config)])]
      : [config.kind, config.url]
  return createHash('sha256').update(JSON.stringify(what)).digest('hex')
}
