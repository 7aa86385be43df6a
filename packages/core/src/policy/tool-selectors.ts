import { plainName } from '../names.ts'
import { compileNameGlob, isNameGlob } from '../text/name-glob.ts'
import { canonicalName, type ToolRef } from '../tool.ts'

/** What a list of selectors comes to, over the tools that are known. */
export interface CompiledSelectors {
  /** Never true of a tool that is not known, unless there were no selectors at all. */
  includes(ref: ToolRef): boolean
  /** Whether a tool of it is selected; of a server that lists none, whether it is selected whole. */
  includesServer(server: string): boolean
  /** Selectors that mean nothing that is known, as they were written. */
  readonly unmatched: readonly string[]
}

/** What may be named besides the tools. */
export interface SelectionContext {
  /** Servers that are known whether or not they list tools: a word that names one means no tool of another. */
  readonly servers?: Iterable<string>
  readonly wireName?: (ref: ToolRef) => string | undefined
}

/**
 * Undefined selects everything, an empty list nothing, and so does a list that only takes away.
 *
 * Servers choose the names of their tools, so that a doubtful word adds nothing and takes away all that it may mean.
 */
export function compileSelectors(
  selectors: readonly string[] | undefined,
  tools: readonly ToolRef[],
  world: SelectionContext = {},
): CompiledSelectors {
  if (selectors === undefined) return EVERYTHING
  const known = new KnownTools(tools, world)
  const added = new SelectionMarks(tools.length)
  const taken = new SelectionMarks(tools.length)
  const unmatched = [...new Set(selectors)].filter((selector) =>
    selector.startsWith('!') ? !known.markPossible(selector.slice(1), taken) : !known.markIntended(selector, added),
  )
  const included = new Map<string, Set<string>>()
  for (const [at, { server, tool }] of tools.entries())
    if (added.has(at) && !taken.has(at)) included.set(server, (included.get(server) ?? new Set()).add(tool))
  return {
    includes: ({ server, tool }) => included.get(server)?.has(tool) ?? false,
    includesServer: (server) =>
      known.hasTools(server) ? included.has(server) : added.servers.has(server) && !taken.servers.has(server),
    unmatched,
  }
}

const EVERYTHING: CompiledSelectors = { includes: () => true, includesServer: () => true, unmatched: [] }

/** With the server in it: never the tool of another server that happens to be called so. */
const QUALIFIED_NAME = /^mcp__|\//

/** What selectors came to: tools by their number, and servers that were meant whole. */
class SelectionMarks {
  readonly servers = new Set<string>()
  readonly #tools: Uint8Array

  constructor(tools: number) {
    this.#tools = new Uint8Array(tools)
  }

  has(tool: number): boolean {
    return this.#tools[tool] === 1
  }

  /** False where there is nothing to mark. */
  add(tools: readonly number[]): boolean {
    for (const tool of tools) this.#tools[tool] = 1
    return tools.length > 0
  }
}

type Matches = (name: string) => boolean
type Numbers = Map<string, number[]>

/** The words by which known tools can be meant. Names lie side by side, since very many globs may be asked of them. */
class KnownTools {
  readonly #names: readonly string[]
  readonly #canonicals: readonly string[]
  readonly #wires: readonly string[]
  readonly #byServer: Numbers = new Map()
  readonly #byTool: Numbers = new Map()
  readonly #bySpelling: Numbers = new Map()
  /** Tools that are called as another server's would be on the wire: a bare word does not mean them. */
  readonly #borrowed: ReadonlySet<number>
  /** How many slashes the name of a server has at most: native ones may have some. */
  readonly #maxSlashes: number

  constructor(tools: readonly ToolRef[], { servers = [], wireName }: SelectionContext) {
    this.#names = tools.map(({ tool }) => tool)
    this.#canonicals = tools.map(canonicalName)
    this.#wires = wireName ? tools.map((ref) => wireName(ref) ?? '') : []
    for (const server of servers) this.#byServer.set(server, [])
    for (const [at, ref] of tools.entries()) this.#index(at, ref)
    this.#borrowed = borrowedNames(tools, [...this.#byServer.keys()])
    this.#maxSlashes = [...this.#byServer.keys()].reduce((most, id) => Math.max(most, id.split('/').length - 1), 0)
  }

  #index(at: number, { server, tool }: ToolRef): void {
    push(this.#byServer, server, at)
    push(this.#byTool, tool, at)
    const writings = new Set([`${server}/${tool}`, this.#canonicals[at], this.#wires[at]])
    for (const writing of writings) if (writing) push(this.#bySpelling, writing, at)
  }

  hasTools(server: string): boolean {
    return (this.#byServer.get(server)?.length ?? 0) > 0
  }

  /** Marks the one thing that a word means, if it is one, or all that a glob matches. False: that is nothing. */
  markIntended(word: string, marks: SelectionMarks): boolean {
    if (this.#byServer.has(word)) return this.#markServers([word], marks)
    if (!isNameGlob(word)) return marks.add(sole(this.#bySpelling.get(word) ?? this.#findBare(word)))
    if (QUALIFIED_NAME.test(word)) return this.#markQualifiedGlob(word, marks)
    const matches = compileNameGlob(word)
    if (this.#markServers(this.#matchServers(matches), marks)) return true
    const named = findIndexes(this.#names, matches).filter((at) => !this.#borrowed.has(at))
    return marks.add(named) || marks.add(findIndexes(this.#wires, matches))
  }

  /** Marks everything that a word may be meant for. */
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
    const found = splits(word, this.#maxSlashes + 1).map(([server, tool]) => this.#markSplit(server, tool, marks))
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

/** Also while the other server is away. */
function borrowedNames(tools: readonly ToolRef[], servers: readonly string[]): ReadonlySet<number> {
  const prefixes = servers
    .map((server) => ({ server, prefix: plainName({ server, tool: 'x' }).slice(0, -1) }))
    // Nothing of a name without Latin letters is left on the wire.
    .filter(({ prefix }) => prefix !== '')
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

/** Where the server may end and the tool begin. */
function splits(word: string, most: number): readonly (readonly [server: string, tool: string])[] {
  const found: (readonly [string, string])[] = []
  for (let at = word.indexOf('/'); at >= 0 && found.length < most; at = word.indexOf('/', at + 1))
    found.push([word.slice(0, at), word.slice(at + 1)])
  return found
}
