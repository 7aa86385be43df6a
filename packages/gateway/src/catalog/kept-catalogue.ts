import { hash } from 'node:crypto'
import { allowedEntry, isJsonObject, jsonIn } from '@sallyport/core'
import { printDigests, readDigests } from '../governance/governance.ts'
import type { ServerCatalogue } from '../upstream/upstream.ts'
import { KeptTools } from './kept-tools.ts'

/** Those that were read from what was kept, for as long as they are as they were. */
const keptTools = new WeakMap<ServerCatalogue, KeptTools>()

export const keptToolsOf = (catalogue: ServerCatalogue): KeptTools | undefined => keptTools.get(catalogue)

/** The names of a server's tools, in their order. */
export const toolNamesOf = (catalogue: ServerCatalogue): readonly string[] =>
  keptTools.get(catalogue)?.names ?? catalogue.tools.map(({ name }) => String(name))

/**
 * A catalogue as it is kept: the digest of all that follows, everything but the tools, and each tool on a line of its
 * own. What is handed to clients out of it is not parsed first: the digest proves that it is what was printed here.
 */
export function printCatalogue({ tools, ...rest }: ServerCatalogue): string {
  const names = tools.map(({ name }) => name)
  const repaired = tools.flatMap((tool, at) => (allowedEntry('legacy tool', tool) === tool ? [] : [at]))
  const lines = [{ ...rest, names, pins: printDigests(tools), repaired }, ...tools].map((part) => JSON.stringify(part))
  const body = lines.join('\n')
  return `${hash('sha256', body)}\n${body}`
}

const LISTS = ['resources', 'resourceTemplates', 'prompts', 'leftOut', 'names']

export interface ReadCatalogue {
  readonly catalogue: ServerCatalogue
  /** Whether all that is known of its tools came along. */
  readonly isWhole: boolean
}

/** Another version of ours may have written something else there: then the server is asked, as if nothing were known. */
export function readCatalogue(text: string): ReadCatalogue | undefined {
  const start = text.indexOf('\n') + 1
  const body = text.slice(start)
  if (text.slice(0, start) !== `${hash('sha256', body)}\n`) return undefined
  const [head = '', ...texts] = body.split('\n')
  const known = jsonIn(head)
  if (!isJsonObject(known) || !isJsonObject(known.capabilities)) return undefined
  if (known.era !== 'legacy' && known.era !== 'modern') return undefined
  if (!LISTS.every((list) => Array.isArray(known[list]))) return undefined
  const { names, pins: kept, repaired, ...rest } = known as unknown as Omit<ServerCatalogue, 'tools'> & Head
  if (names.length !== texts.length) return undefined
  const digests = readDigests(kept, names.length)
  const tools = new KeptTools({ names, texts, digests, repaired: Array.isArray(repaired) ? repaired : undefined })
  const catalogue = {
    ...rest,
    get tools() {
      return tools.all
    },
  }
  keptTools.set(catalogue, tools)
  return { catalogue, isWhole: digests !== undefined && Array.isArray(repaired) }
}

interface Head {
  readonly names: readonly string[]
  readonly pins: unknown
  /** Which of the tools are listed otherwise than they were defined, by their places. */
  readonly repaired: unknown
}
