import { createHash } from 'node:crypto'
import { type Json, sameJson } from '@sallyport/core'
import type { ServerConfig } from '../config/config.ts'
import type { CatalogueCache } from '../store/store.ts'
import type { LastKnown, ServerCatalogue } from '../upstream/upstream.ts'
import { printCatalogue, readCatalogue } from './kept-catalogue.ts'

/** What servers offered the last time, kept so that a start need not wait for them. */
export class CatalogueShelf {
  readonly #cache: CatalogueCache
  /** By the server: what stands in the cache. */
  readonly #kept = new Map<string, Kept>()

  constructor(cache: CatalogueCache) {
    this.#cache = cache
  }

  lastKnown(server: string): LastKnown | undefined {
    return this.#kept.get(server)?.catalogue
  }

  load(config: ServerConfig): ServerCatalogue | undefined {
    const source = fingerprint(config)
    const text = this.#cache.load(config.id, source)
    if (text === undefined) return undefined
    const kept = readCatalogue(text)
    if (kept === undefined) return undefined
    const { catalogue, isWhole } = kept
    this.#kept.set(config.id, { catalogue, ...(isWhole && { source }) })
    return catalogue
  }

  save(config: ServerConfig, catalogue: ServerCatalogue): void {
    const source = fingerprint(config)
    const kept = this.#kept.get(config.id)
    this.#kept.set(config.id, { source, catalogue })
    if (kept?.source === source && tellSame(kept.catalogue, catalogue)) return
    this.#cache.save(config.id, source, printCatalogue(catalogue))
  }
}

interface Kept {
  /** The fingerprint of the server that told it; nothing where it has to be written anew. */
  readonly source?: string
  readonly catalogue: ServerCatalogue
}

function tellSame(one: ServerCatalogue, other: ServerCatalogue): boolean {
  const parts = new Set([...Object.keys(one), ...Object.keys(other)]) as Set<keyof ServerCatalogue>
  // How long lists are good for is told anew each time, and a start asks for them in any case.
  parts.delete('freshUntil')
  return [...parts].every((part) => sameJson(one[part] as Json, other[part] as Json))
}

/** Another program or address is another server, whatever its id; its secrets are no part of that. */
function fingerprint(config: ServerConfig): string {
  const what = 'command' in config ? [config.command, config.args, config.cwd] : [config.kind, config.url]
  return createHash('sha256').update(JSON.stringify(what)).digest('hex')
}
