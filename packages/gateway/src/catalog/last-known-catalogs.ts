import { createHash } from 'node:crypto'
import { type Json, sameJson } from '@sallyport/core'
import type { ServerConfig } from '../config/config.ts'
import type { CatalogCache } from '../store/store.ts'
import type { LastKnownServer, ServerCatalog } from '../upstream/upstream.ts'
import { formatCatalog, parseCatalog } from './catalog-format.ts'

/** What servers offered the last time, kept so that a start need not wait for them. */
export class LastKnownCatalogs {
  readonly #cache: CatalogCache
  /** By the server: what stands in the cache. */
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
    const kept = parseCatalog(text)
    if (kept === undefined) return undefined
    const { catalog, isComplete } = kept
    this.#stored.set(config.id, { catalog, ...(isComplete && { source }) })
    return catalog
  }

  save(config: ServerConfig, catalog: ServerCatalog): void {
    const source = fingerprint(config)
    const kept = this.#stored.get(config.id)
    this.#stored.set(config.id, { source, catalog })
    if (kept?.source === source && sameCatalog(kept.catalog, catalog)) return
    this.#cache.save(config.id, source, formatCatalog(catalog))
  }
}

interface StoredEntry {
  /** The fingerprint of the server that told it; nothing where it has to be written anew. */
  readonly source?: string
  readonly catalog: ServerCatalog
}

function sameCatalog(one: ServerCatalog, other: ServerCatalog): boolean {
  const parts = new Set([...Object.keys(one), ...Object.keys(other)]) as Set<keyof ServerCatalog>
  // How long lists are good for is told anew each time, and a start asks for them in any case.
  parts.delete('freshUntil')
  return [...parts].every((part) => sameJson(one[part] as Json, other[part] as Json))
}

/** Another program or address is another server, whatever its id; its secrets are no part of that. */
function fingerprint(config: ServerConfig): string {
  const what = 'command' in config ? [config.command, config.args, config.cwd] : [config.kind, config.url]
  return createHash('sha256').update(JSON.stringify(what)).digest('hex')
}
