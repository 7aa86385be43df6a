import { nameGlob } from './glob.ts'
import { plainName } from './names.ts'
import { canonicalName, type ToolRef } from './tool.ts'

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
export interface SelectableWorld {
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
  world: SelectableWorld = {},
): CompiledSelectors {
  if (selectors === undefined) return EVERYTHING
  const known = new KnownTools(tools, world)
  const added = new Chosen()
  const taken = new Chosen()
  const unmatched: string[] = []
  for (const selector of new Set(selectors)) {
    const takes = selector.startsWith('!')
    const meant = takes ? known.couldMean(selector.slice(1)) : known.means(selector)
    if (meant.servers.length + meant.tools.length === 0) unmatched.push(selector)
    else (takes ? taken : added).add(meant)
  }
  const included = new Chosen()
  included.add({ servers: [], tools: tools.filter((ref) => added.has(ref) && !taken.has(ref)) })
  return {
    includes: (ref) => included.has(ref),
    includesServer: (server) =>
      known.lists(server) ? included.touches(server) : added.hasWhole(server) && !taken.hasWhole(server),
    unmatched,
  }
}

const EVERYTHING: CompiledSelectors = { includes: () => true, includesServer: () => true, unmatched: [] }

interface Meaning {
  /** Whole, with whatever they list. */
  readonly servers: readonly string[]
  readonly tools: readonly ToolRef[]
}

const NOTHING: Meaning = { servers: [], tools: [] }
const GLOB = /[*?]/
/** With the server in it: never the tool of another server that happens to be called so. */
const LOOKS_FULL = /^mcp__|\//

/** Servers and tools, each the one that it is: pairs are not glued together, since native names may hold anything. */
class Chosen {
  readonly #servers = new Set<string>()
  readonly #tools = new Map<string, Set<string>>()

  add({ servers, tools }: Meaning): void {
    for (const server of servers) this.#servers.add(server)
    for (const { server, tool } of tools) {
      const same = this.#tools.get(server)
      if (same) same.add(tool)
      else this.#tools.set(server, new Set([tool]))
    }
  }

  has({ server, tool }: ToolRef): boolean {
    return this.#servers.has(server) || (this.#tools.get(server)?.has(tool) ?? false)
  }

  hasWhole(server: string): boolean {
    return this.#servers.has(server)
  }

  touches(server: string): boolean {
    return this.#tools.has(server)
  }
}

/** The words by which known tools can be meant. */
class KnownTools {
  readonly #tools: readonly ToolRef[]
  readonly #wireName: (ref: ToolRef) => string | undefined
  readonly #byServer = new Map<string, ToolRef[]>()
  readonly #byTool = new Map<string, ToolRef[]>()
  readonly #byWriting = new Map<string, ToolRef[]>()
  readonly #ownWords = new Map<ToolRef, boolean>()
  readonly #prefixes: readonly { readonly server: string; readonly prefix: string }[]

  constructor(tools: readonly ToolRef[], { servers = [], wireName = () => undefined }: SelectableWorld) {
    this.#tools = tools
    this.#wireName = wireName
    for (const server of servers) this.#byServer.set(server, [])
    for (const ref of tools) {
      push(this.#byServer, ref.server, ref)
      push(this.#byTool, ref.tool, ref)
      const writings = [`${ref.server}/${ref.tool}`, canonicalName(ref), wireName(ref)]
      for (const writing of new Set(writings)) if (writing !== undefined) push(this.#byWriting, writing, ref)
    }
    const prefixes = [...this.#byServer.keys()].map((server) => ({ server, prefix: wirePrefix(server) }))
    this.#prefixes = prefixes.filter(({ prefix }) => prefix !== '')
  }

  lists(server: string): boolean {
    return (this.#byServer.get(server)?.length ?? 0) > 0
  }

  /** The one thing that a word means, if it is one; all that a glob matches. */
  means(word: string): Meaning {
    if (this.#byServer.has(word)) return { servers: [word], tools: [] }
    if (!GLOB.test(word)) return { servers: [], tools: sole(this.#byWriting.get(word) ?? this.#bare(word)) }
    if (LOOKS_FULL.test(word)) return this.#fullGlob(word)
    const matches = nameGlob(word)
    const servers = this.#serversLike(matches)
    if (servers.length > 0) return { servers, tools: [] }
    const named = this.#toolsLike(matches).filter((ref) => this.#isOwnWord(ref))
    return { servers: [], tools: named.length > 0 ? named : this.#wiresLike(matches) }
  }

  /** Everything that a word may be meant for. */
  couldMean(word: string): Meaning {
    if (this.#byServer.has(word)) return { servers: [word], tools: [] }
    const exact = [...(this.#byWriting.get(word) ?? []), ...(this.#byTool.get(word) ?? [])]
    if (!GLOB.test(word)) return { servers: [], tools: exact }
    const matches = nameGlob(word)
    const full = LOOKS_FULL.test(word) ? this.#fullGlob(word) : NOTHING
    return {
      servers: [...this.#serversLike(matches), ...full.servers],
      tools: [...full.tools, ...this.#toolsLike(matches), ...this.#wiresLike(matches)],
    }
  }

  #bare(word: string): readonly ToolRef[] {
    if (LOOKS_FULL.test(word)) return []
    return (this.#byTool.get(word) ?? []).filter((ref) => this.#isOwnWord(ref))
  }

  /** A tool called as another server's would be on the wire is not meant by that word, also while the other is away. */
  #isOwnWord(ref: ToolRef): boolean {
    const known = this.#ownWords.get(ref)
    if (known !== undefined) return known
    const isOwn = !this.#prefixes.some(({ server, prefix }) => server !== ref.server && ref.tool.startsWith(prefix))
    this.#ownWords.set(ref, isOwn)
    return isOwn
  }

  #fullGlob(word: string): Meaning {
    if (!word.includes('/')) {
      const matches = nameGlob(word)
      return { servers: [], tools: this.#tools.filter((ref) => matches(canonicalName(ref))) }
    }
    const servers: string[] = []
    const tools: ToolRef[] = []
    for (const [server, tool] of splits(word)) {
      const like = this.#byServer.has(server) ? [server] : this.#serversLike(nameGlob(server))
      if (tool === '*') servers.push(...like)
      else for (const one of like) tools.push(...(this.#byServer.get(one) ?? []).filter(toolIs(tool)))
    }
    return { servers, tools }
  }

  #serversLike(matches: (name: string) => boolean): readonly string[] {
    return [...this.#byServer.keys()].filter(matches)
  }

  #toolsLike(matches: (name: string) => boolean): readonly ToolRef[] {
    const found: ToolRef[] = []
    for (const [name, refs] of this.#byTool) if (matches(name)) found.push(...refs)
    return found
  }

  #wiresLike(matches: (name: string) => boolean): readonly ToolRef[] {
    return this.#tools.filter((ref) => matches(this.#wireName(ref) ?? ''))
  }
}

function push(map: Map<string, ToolRef[]>, key: string, ref: ToolRef): void {
  const same = map.get(key)
  if (same) same.push(ref)
  else map.set(key, [ref])
}

const sole = (refs: readonly ToolRef[]): readonly ToolRef[] => (refs.length === 1 ? refs : [])

/** What the names of a server's tools begin with on the wire. */
const wirePrefix = (server: string): string => plainName({ server, tool: 'x' }).slice(0, -1)

function toolIs(pattern: string): (ref: ToolRef) => boolean {
  const matches = nameGlob(pattern)
  return (ref) => matches(ref.tool)
}

/** Where the server may end and the tool begin: native server names can hold a slash. */
function* splits(word: string): Iterable<readonly [server: string, tool: string]> {
  for (let at = word.indexOf('/'); at >= 0; at = word.indexOf('/', at + 1))
    yield [word.slice(0, at), word.slice(at + 1)]
}
