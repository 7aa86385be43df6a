import { createHash } from 'node:crypto'
import type { Era } from '@sallyport/core'
import type { ServerConfig } from '../config/config.ts'
import type { CatalogueCache } from '../store/store.ts'
import type { ServerCatalogue } from '../upstream/upstream.ts'

/** What servers offered the last time, kept so that a start need not wait for them. */
export class CatalogueShelf {
  readonly #cache: CatalogueCache
  readonly #eras = new Map<string, Era>()

  constructor(cache: CatalogueCache) {
    this.#cache = cache
  }

  eraOf(server: string): Era | undefined {
    return this.#eras.get(server)
  }

  load(config: ServerConfig): ServerCatalogue | undefined {
    const text = this.#cache.load(config.id, fingerprint(config))
    if (text === undefined) return undefined
    const catalogue = JSON.parse(text) as ServerCatalogue
    this.#eras.set(config.id, catalogue.era)
    return catalogue
  }

  save(config: ServerConfig, catalogue: ServerCatalogue): void {
    this.#eras.set(config.id, catalogue.era)
    this.#cache.save(config.id, fingerprint(config), JSON.stringify(catalogue))
  }
}

/** Another program or address is another server, whatever its id; its secrets are no part of that. */
function fingerprint(config: ServerConfig): string {
  const what = config.kind === 'stdio' ? [config.command, config.args, config.cwd] : [config.kind, config.url]
  return createHash('sha256').update(JSON.stringify(what)).digest('hex')
}
