import { mcpName, plainName } from '../names.ts'
import { compileNameGlob, isNameGlob } from '../text/name-glob.ts'
import { canonicalName, type ToolRef } from '../tool.ts'

/** The tools and servers that a list of selectors selects. */
export interface CompiledSelectors {
  /** Never true for an unknown tool, unless there are no selectors at all. */
  includes(ref: ToolRef): boolean
  /** Whether a tool of the server is selected. For a server without tools: whether the server itself is selected. */
  includesServer(server: string): boolean
  /** Selectors that match nothing, as written. */
  readonly unmatched: readonly string[]
}

/** What selectors may name besides tools. */
export interface SelectionContext {
  /** Known servers, also those without tools. A word that names a server never means a tool of another server. */
  readonly servers?: Iterable<string>
  readonly wireName?: (ref: ToolRef) => string | undefined
}

/**
 * `undefined` selects everything. An empty list, or a list with only exclusions, selects nothing.
 *
 * Servers choose the names of their tools. So an ambiguous word includes nothing, and excludes everything that it may
 * mean.
 */
export function compileSelectors(
  selectors: readonly string[] | undefined,
  tools: readonly ToolRef[],
  context: SelectionContext = {},
): CompiledSelectors {
  if (selectors === undefined) return EVERYTHING
  const known = new KnownTools(tools, context)
  const selected = new SelectionMarks(tools.length)
  const excluded = new SelectionMarks(tools.length)
  const unmatched = [...new Set(selectors)].filter((selector) =>
    selector.startsWith('!')
      ? !known.markPossible(selector.slice(1), excluded)
      : !known.markIntended(selector, selected),
  )
  const included = new Map<string, Set<string>>()
  for (const [at, { server, tool }] of tools.entries())
    if (selected.has(at) && !excluded.has(at)) included.set(server, (included.get(server) ?? new Set()).add(tool))
  return {
    includes: ({ server, tool }) => included.get(server)?.has(tool) ?? false,
    includesServer: (server) =>
      known.hasTools(server) ? included.has(server) : selected.servers.has(server) && !excluded.servers.has(server),
    unmatched,
  }
}

const EVERYTHING: CompiledSelectors = { includes: () => true, includesServer: () => true, unmatched: [] }

/** A name that includes the server: it never means a tool of another server that happens to have this name. */
const QUALIFIED_NAME = /^mcp__|\//

/** What selectors matched: tools by index, and whole servers. */
class SelectionMarks {
  readonly servers = new Set<string>()
  readonly #tools: Uint8Array

  constructor(tools: number) {
    this.#tools = new Uint8Array(tools)
  }

  has(tool: number): boolean {
    return this.#tools[tool] === 1
  }

  /** False if there is nothing to mark. */
  add(tools: readonly number[]): boolean {
    for (const tool of tools) this.#tools[tool] = 1
    return tools.length > 0
  }
}

type Matches = (name: string) => boolean
type Numbers = Map<string, number[]>

/** Index of the names of all known tools. Names are in arrays, because very many globs may be matched against them. */
class KnownTools {
  readonly #names: readonly string[]
  readonly #canonicals: readonly string[]
  readonly #wires: readonly string[]
  readonly #byServer: Numbers = new Map()
  readonly #byTool: Numbers = new Map()
  readonly #bySpelling: Numbers = new Map()
  /** Tools whose name looks like the wire name of another server's tool: a bare word never means them. */
  readonly #borrowed: ReadonlySet<number>
  /** The maximum number of slashes in a server name: names in agents' own files may contain some. */
  readonly #maxSlashes: number

  constructor(tools: readonly ToolRef[], { servers = [], wireName }: SelectionContext) {
    this.#names = tools.map(({ tool }) => tool)
    this.#canonicals = tools.map(canonicalName)
    this.#wires = wireName ? tools.map((ref) => wireName(ref) ?? '') : []
    for (const server of servers) this.#byServer.set(server, [])
    for (const [at, ref] of tools.entries()) this.#index(at, ref)
    this.#borrowed = borrowedNames(tools, [...this.#byServer.keys()])
    this.#maxSlashes = [...this.#byServer.keys()].reduce((max, id) => Math.max(max, id.split('/').length - 1), 0)
  }

  #index(at: number, { server, tool }: ToolRef): void {
    push(this.#byServer, server, at)
    push(this.#byTool, tool, at)
    const spellings = new Set([`${server}/${tool}`, this.#canonicals[at], this.#wires[at]])
    for (const spelling of spellings) if (spelling) push(this.#bySpelling, spelling, at)
  }

  hasTools(server: string): boolean {
    return (this.#byServer.get(server)?.length ?? 0) > 0
  }

  /** Marks what a word means, if that is unambiguous, or everything that a glob matches. False if that is nothing. */
  markIntended(word: string, marks: SelectionMarks): boolean {
    if (this.#byServer.has(word)) return this.#markServers([word], marks)
    if (!isNameGlob(word)) return marks.add(sole(this.#bySpelling.get(word) ?? this.#findBare(word)))
    if (QUALIFIED_NAME.test(word)) return this.#markQualifiedGlob(word, marks)
    const matches = compileNameGlob(word)
    if (this.#markServers(this.#matchServers(matches), marks)) return true
    const named = findIndexes(this.#names, matches).filter((at) => !this.#borrowed.has(at))
    return marks.add(named) || marks.add(findIndexes(this.#wires, matches))
  }

  /** Marks everything that a word may mean. */
  markPossible(word: string, marks: SelectionMarks): boolean {
    if (this.#byServer.has(word)) return this.#markServers([word], marks)
    const exact = [...(this.#bySpelling.get(word) ?? []), ...(this.#byTool.get(word) ?? [])]
    if (!isNameGlob(word)) return marks.add(exact)
    const matches = compileNameGlob(word)
    const found = [
      QUALIFIED_NAME.test(word) && this.#markQualifiedGlob(word, marks),
      this.#markServers(this.#matchServers(matches), marks),
      marks.add(findIndexes(this.#names, matches)),
      marks.add(findIndexes(this.#wires, matches)),
    ]
    return found.includes(true)
  }

  #findBare(word: string): readonly number[] {
    return QUALIFIED_NAME.test(word) ? [] : (this.#byTool.get(word) ?? []).filter((at) => !this.#borrowed.has(at))
  }

  #markQualifiedGlob(word: string, marks: SelectionMarks): boolean {
    if (!word.includes('/')) return marks.add(findIndexes(this.#canonicals, compileNameGlob(word)))
    const found = listSplits(word, this.#maxSlashes + 1).map(([server, tool]) => this.#markSplit(server, tool, marks))
    return found.includes(true)
  }

  #markSplit(server: string, tool: string, marks: SelectionMarks): boolean {
    const servers = this.#byServer.has(server) ? [server] : this.#matchServers(compileNameGlob(server))
    if (tool === '*') return this.#markServers(servers, marks)
    const matches = compileNameGlob(tool)
    const offered = servers.flatMap((id) => this.#byServer.get(id) ?? [])
    return marks.add(offered.filter((at) => matches(this.#names[at] ?? '')))
  }

  #matchServers(matches: Matches): readonly string[] {
    return [...this.#byServer.keys()].filter(matches)
  }

  #markServers(servers: readonly string[], marks: SelectionMarks): boolean {
    for (const server of servers) {
      marks.servers.add(server)
      marks.add(this.#byServer.get(server) ?? [])
    }
    return servers.length > 0
  }
}

function findIndexes(names: readonly string[], matches: Matches): number[] {
  const found: number[] = []
  for (let at = 0; at < names.length; at++) if (matches(names[at] as string)) found.push(at)
  return found
}

/** Tools whose name begins like the wire name of another server, even if that server is not connected. */
function borrowedNames(tools: readonly ToolRef[], servers: readonly string[]): ReadonlySet<number> {
  const prefixes = servers
    // A server name without Latin letters has an empty prefix on the wire.
    .filter((server) => /[A-Za-z0-9]/.test(server))
    .flatMap((server) =>
      [plainName, mcpName].map((name) => ({ server, prefix: name({ server, tool: 'x' }).slice(0, -1) })),
    )
  const isBorrowed = (ref: ToolRef): boolean =>
    prefixes.some(({ server, prefix }) => ref.tool.startsWith(prefix) && server !== ref.server)
  return new Set([...tools.keys()].filter((at) => isBorrowed(tools[at] as ToolRef)))
}

function push(map: Numbers, key: string, tool: number): void {
  const same = map.get(key)
  if (same) same.push(tool)
  else map.set(key, [tool])
}

const sole = (tools: readonly number[]): readonly number[] => (tools.length === 1 ? tools : [])

/** All ways to split a word into server and tool. */
function listSplits(word: string, max: number): readonly (readonly [server: string, tool: string])[] {
  const found: (readonly [string, string])[] = []
  for (let at = word.indexOf('/'); at >= 0 && found.length < max; at = word.indexOf('/', at + 1))
    found.push([word.slice(0, at), word.slice(at + 1)])
  return found
}
