import { hash } from 'node:crypto'
import { isJsonObject, sanitizeEntry, tryParseJson } from '@sallyport/core'
import { decodeDigests, encodeDigests } from '../governance/governance.ts'
import type { ServerCatalog } from '../upstream/upstream.ts'
import { StoredTools } from './kept-tools.ts'

/** Those that were read from what was kept, for as long as they are as they were. */
const storedTools = new WeakMap<ServerCatalog, StoredTools>()

export const storedToolsOf = (catalogue: ServerCatalog): StoredTools | undefined => storedTools.get(catalogue)

/** The names of a server's tools, in their order. */
export const toolNamesOf = (catalogue: ServerCatalog): readonly string[] =>
  storedTools.get(catalogue)?.names ?? catalogue.tools.map(({ name }) => String(name))

/**
 * A catalogue as it is kept: the digest of all that follows, everything but the tools, and each tool on a line of its
 * own. What is handed to clients out of it is not parsed first: the digest proves that it is what was printed here.
 */
export function formatCatalog({ tools, ...rest }: ServerCatalog): string {
  const names = tools.map(({ name }) => name)
  const repaired = tools.flatMap((tool, at) => (sanitizeEntry('legacy tool', tool) === tool ? [] : [at]))
  const lines = [{ ...rest, names, pins: encodeDigests(tools), repaired }, ...tools].map((part) => JSON.stringify(part))
  const body = lines.join('\n')
  return `${hash('sha256', body)}\n${body}`
}

const LISTS = ['resources', 'resourceTemplates', 'prompts', 'leftOut', 'names']

export interface ParsedCatalog {
  readonly catalog: ServerCatalog
  /** Whether all that is known of its tools came along. */
  readonly isComplete: boolean
}

/** Another version of ours may have written something else there: then the server is asked, as if nothing were known. */
export function parseCatalog(text: string): ParsedCatalog | undefined {
  const start = text.indexOf('\n') + 1
  const body = text.slice(start)
  if (text.slice(0, start) !== `${hash('sha256', body)}\n`) return undefined
  const [head = '', ...texts] = body.split('\n')
  const known = tryParseJson(head)
  if (!isJsonObject(known) || !isJsonObject(known.capabilities)) return undefined
  if (known.era !== 'legacy' && known.era !== 'modern') return undefined
  if (!LISTS.every((list) => Array.isArray(known[list]))) return undefined
  const { names, pins: kept, repaired, ...rest } = known as unknown as Omit<ServerCatalog, 'tools'> & Head
  if (names.length !== texts.length) return undefined
  const digests = decodeDigests(kept, names.length)
  const tools = new StoredTools({ names, texts, digests, repaired: Array.isArray(repaired) ? repaired : undefined })
  const catalog = {
    ...rest,
    get tools() {
      return tools.all
    },
  }
  storedTools.set(catalog, tools)
  return { catalog, isComplete: digests !== undefined && Array.isArray(repaired) }
}

interface Head {
  readonly names: readonly string[]
  readonly pins: unknown
  /** Which of the tools are listed otherwise than they were defined, by their places. */
  readonly repaired: unknown
}
