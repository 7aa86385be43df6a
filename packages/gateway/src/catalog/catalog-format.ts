import { hash } from 'node:crypto'
import {
  isJsonObject,
  type JsonObject,
  parseExactJson,
  printExactJson,
  sanitizeEntry,
  type ToolDefinition,
  tryParseJson,
} from '@sallyport/core'
import { cachePin, decodeDigests, encodeDigests, type StoredDigests } from '../governance/governance.ts'
import type { ServerCatalog } from '../upstream/upstream.ts'

/** The tools of catalogs that came from the store. An entry lives as long as its catalog. */
const storedTools = new WeakMap<ServerCatalog, StoredTools>()

export const storedToolsOf = (serverCatalog: ServerCatalog): StoredTools | undefined => storedTools.get(serverCatalog)

export const toolNamesOf = (serverCatalog: ServerCatalog): readonly string[] =>
  storedTools.get(serverCatalog)?.names ?? serverCatalog.tools.map(({ name }) => String(name))

/**
 * A catalog in its stored form: the digest of all that follows, everything but the tools, and each tool on its own
 * line. Clients get lines of it without a parse: the digest proves that this code wrote them.
 */
export function formatCatalog({ tools, revealed: _unstored, ...rest }: ServerCatalog): string {
  const names = tools.map(({ name }) => name)
  const repaired = tools.flatMap((tool, at) => (sanitizeEntry('legacy tool', tool) === tool ? [] : [at]))
  const lines = [{ ...rest, names, pins: encodeDigests(tools), repaired }, ...tools].map((part) =>
    printExactJson(part as unknown as JsonObject),
  )
  const body = lines.join('\n')
  return `${hash('sha256', body)}\n${body}`
}

const LISTS = ['resources', 'resourceTemplates', 'prompts', 'leftOut', 'names']

export interface ParsedCatalog {
  readonly catalog: ServerCatalog
  /** Whether the digests and the list of repaired tools were stored too. */
  readonly isComplete: boolean
}

/** `undefined` if another version of Sallyport wrote another format: then the server is asked for its catalog. */
export function parseCatalog(text: string): ParsedCatalog | undefined {
  const start = text.indexOf('\n') + 1
  const body = text.slice(start)
  if (text.slice(0, start) !== `${hash('sha256', body)}\n`) return undefined
  const [head = '', ...texts] = body.split('\n')
  const parsedHead = tryParseJson(head) === undefined ? undefined : parseExactJson(head)
  if (!isJsonObject(parsedHead) || !isJsonObject(parsedHead.capabilities)) return undefined
  if (parsedHead.era !== 'legacy' && parsedHead.era !== 'modern') return undefined
  if (!LISTS.every((list) => Array.isArray(parsedHead[list]))) return undefined
  const { names, pins: storedPins, repaired, ...rest } = parsedHead as unknown as Omit<ServerCatalog, 'tools'> & Head
  if (names.length !== texts.length) return undefined
  const digests = decodeDigests(storedPins, names.length)
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
  /** Indexes of the tools whose listed form differs from their definition. */
  readonly repaired: unknown
}

/**
 * What is stored of a server's tools: the names, the JSON of each tool, and the digests of each tool if they are known.
 */
interface StoredToolTexts {
  readonly names: readonly string[]
  readonly texts: readonly string[]
  readonly digests: readonly StoredDigests[] | undefined
  /** Indexes of the tools whose listed form differs from their definition; `undefined` if that was not determined. */
  readonly repaired: readonly number[] | undefined
}

/** We wrote these texts ourselves, without needless escapes, so a plain search finds these keys. */
const CLIENT_SPECIFIC = /"outputSchema"|"sallyport\/|\/serverInfo"/

/** Stored tools, each parsed on first use: a start lists thousands of tools and inspects none. */
export class StoredTools {
  readonly names: readonly string[]
  readonly #digests: readonly StoredDigests[] | undefined
  readonly #repaired: ReadonlySet<number> | undefined
  /** Released once all are parsed. */
  #texts: readonly string[]
  readonly #parsed = new Map<number, ToolDefinition>()
  #all: readonly ToolDefinition[] | undefined

  constructor({ names, texts, digests, repaired }: StoredToolTexts) {
    this.names = names
    this.#texts = texts
    this.#digests = digests
    this.#repaired = repaired && new Set(repaired)
  }

  /** Returns the same objects each time: caches use them as keys. */
  get all(): readonly ToolDefinition[] {
    this.#all ??= this.names.map((_, at) => this.tool(at))
    this.#texts = []
    return this.#all
  }

  tool(at: number): ToolDefinition {
    const parsedHead = this.#parsed.get(at)
    if (parsedHead !== undefined) return parsedHead
    const tool = parseExactJson(this.#texts[at] ?? 'null') as ToolDefinition
    const pin = this.#digests?.[at]?.pin
    if (pin !== undefined) cachePin(tool, pin)
    this.#parsed.set(at, tool)
    return tool
  }

  digests(at: number): StoredDigests | undefined {
    return this.#digests?.[at]
  }

  /**
   * Whether the definition can be printed under another name without parsing it. Not if the name is not its first key,
   * and not if it may have a part that some clients must not see: an output schema, a `_meta` key reserved for the
   * gateway, or something that the protocol does not allow.
   */
  isPrintable(at: number): boolean {
    if (this.#repaired?.has(at) !== false) return false
    const text = this.#texts[at]
    return text?.startsWith(this.#nameHead(at)) === true && !CLIENT_SPECIFIC.test(text)
  }

  /** The JSON of a printable tool under another name; `undefined` once the texts are released. */
  printed(at: number, name: string): string | undefined {
    const rest = this.#texts[at]?.slice(this.#nameHead(at).length)
    return rest && `{"name":${JSON.stringify(name)}${rest}`
  }

  #nameHead(at: number): string {
    return `{"name":${JSON.stringify(this.names[at])}`
  }
}
