import { createHash } from 'node:crypto'
import { isJsonObject } from '@sallyport/core'
import type { ServerConfig } from '../config/config.ts'
import { keptPins, recallPins } from '../governance/governance.ts'
import type { CatalogueCache } from '../store/store.ts'
import type { LastKnown, ServerCatalogue } from '../upstream/upstream.ts'

/** What servers offered the last time, kept so that a start need not wait for them. */
export class CatalogueShelf {
  readonly #cache: CatalogueCache
  readonly #lastKnown = new Map<string, LastKnown>()

  constructor(cache: CatalogueCache) {
    this.#cache = cache
  }

  lastKnown(server: string): LastKnown | undefined {
    return this.#lastKnown.get(server)
  }

  load(config: ServerConfig): ServerCatalogue | undefined {
    const text = this.#cache.load(config.id, fingerprint(config))
    if (text === undefined) return undefined
    const catalogue = readCatalogue(text)
    if (catalogue === undefined) return undefined
    this.#lastKnown.set(config.id, catalogue)
    return catalogue
  }

  save(config: ServerConfig, catalogue: ServerCatalogue): void {
    this.#lastKnown.set(config.id, catalogue)
    this.#cache.save(config.id, fingerprint(config), JSON.stringify({ ...catalogue, pins: keptPins(catalogue.tools) }))
  }
}

const LISTS = ['tools', 'resources', 'resourceTemplates', 'prompts', 'leftOut']

/** Another version of ours may have written something else there: then the server is asked, as if nothing were known. */
function readCatalogue(text: string): ServerCatalogue | undefined {
  const catalogue = parsed(text)
  if (!isJsonObject(catalogue) || !isJsonObject(catalogue.capabilities)) return undefined
  if (catalogue.era !== 'legacy' && catalogue.era !== 'modern') return undefined
  if (!LISTS.every((list) => Array.isArray(catalogue[list]))) return undefined
  const { pins, ...known } = catalogue as unknown as ServerCatalogue & { readonly pins: unknown }
  recallPins(known.tools, pins)
  return known
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Another program or address is another server, whatever its id; its secrets are no part of that. */
function fingerprint(config: ServerConfig): string {
  const what = 'command' in config ? [config.command, config.args, config.cwd] : [config.kind, config.url]
  return createHash('sha256').update(JSON.stringify(what)).digest('hex')
}
