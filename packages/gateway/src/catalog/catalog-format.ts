import { hash } from 'node:crypto'
import { isJsonObject, sanitizeEntry, type ToolDefinition, tryParseJson } from '@sallyport/core'
import { cachePin, decodeDigests, encodeDigests, type StoredDigests } from '../governance/governance.ts'
import type { ServerCatalog } from '../upstream/upstream.ts'

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

/** What was kept of a server's tools: their names, a text for each, and the digests of each where these are known. */
interface StoredToolTexts {
  readonly names: readonly string[]
  readonly texts: readonly string[]
  readonly digests: readonly StoredDigests[] | undefined
  /** The places of those that are listed otherwise than they were defined; undefined where nobody has looked. */
  readonly repaired: readonly number[] | undefined
}

/** Texts are our own print, without escapes for what needs none. */
const CLIENT_SPECIFIC = /"outputSchema"|"sallyport\/|\/serverInfo"/

/** Tools as they were kept, each parsed when somebody looks into it: a start lists thousands and looks into none. */
export class StoredTools {
  readonly names: readonly string[]
  readonly #digests: readonly StoredDigests[] | undefined
  readonly #repaired: ReadonlySet<number> | undefined
  /** Let go of once all are parsed. */
  #texts: readonly string[]
  readonly #parsed = new Map<number, ToolDefinition>()
  #all: readonly ToolDefinition[] | undefined

  constructor({ names, texts, digests, repaired }: StoredToolTexts) {
    this.names = names
    this.#texts = texts
    this.#digests = digests
    this.#repaired = repaired && new Set(repaired)
  }

  /** The same objects each time: what is known of definitions hangs on them. */
  get all(): readonly ToolDefinition[] {
    this.#all ??= this.names.map((_, at) => this.tool(at))
    this.#texts = []
    return this.#all
  }

  tool(at: number): ToolDefinition {
    const known = this.#parsed.get(at)
    if (known !== undefined) return known
    const tool = JSON.parse(this.#texts[at] ?? 'null') as ToolDefinition
    const pin = this.#digests?.[at]?.pin
    if (pin !== undefined) cachePin(tool, pin)
    this.#parsed.set(at, tool)
    return tool
  }

  digests(at: number): StoredDigests | undefined {
    return this.#digests?.[at]
  }

  /**
   * Whether its definition can be printed under another name without a look into it: not where the name does not stand
   * first, nor where there may be something that not everybody is shown: an output schema, what only we may say, or what
   * the protocol does not allow.
   */
  isPrintable(at: number): boolean {
    if (this.#repaired?.has(at) !== false) return false
    const text = this.#texts[at]
    return text?.startsWith(this.#nameHead(at)) === true && !CLIENT_SPECIFIC.test(text)
  }

  /** Of one that is printable, for as long as there are texts. */
  printed(at: number, name: string): string | undefined {
    const rest = this.#texts[at]?.slice(this.#nameHead(at).length)
    return rest && `{"name":${JSON.stringify(name)}${rest}`
  }

  #nameHead(at: number): string {
    return `{"name":${JSON.stringify(this.names[at])}`
  }
}
