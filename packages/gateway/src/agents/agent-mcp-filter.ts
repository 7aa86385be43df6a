import { compileSelectors, isJsonList, type JsonObject, type ToolRef } from '@sallyport/core'
import type { NativeConfig, NativeServer, NativeToolFilter } from './agent-adapter.ts'
import { mapServers } from './native-servers.ts'
import {
  findServerAliases,
  hasGlob,
  isExactToolName,
  mayMatchServer,
  parseToolPart,
  type ServerAliases,
  toServerId,
} from './server-aliases.ts'
import { compileToolPatterns } from './tool-patterns.ts'

/** What a selection leaves of an agent's own servers. */
export interface FilteredConfig {
  /** In the agent's own shape: selected servers verbatim, or narrowed by the agent's own filter. */
  readonly config: NativeConfig
  /** Not in there, since the agent cannot be held to what is selected of them: the gateway can, or they are left out. */
  readonly wrap: readonly WrappedServer[]
  /** Selectors that mean nothing here. */
  readonly unmatched: readonly string[]
}

export interface WrappedServer {
  readonly name: string
  readonly why: string
}

export interface FilterOptions {
  /** What is known of the servers' tools, by the agent's name for the server or by our id for it. */
  readonly tools: readonly ToolRef[]
  readonly toolFilter: NativeToolFilter | undefined
}

/** Only ever takes away (AG-9). Without a selection everything stays the same. */
export function applyAgentMcpFilter(
  config: NativeConfig,
  selection: readonly string[] | undefined,
  { tools, toolFilter }: FilterOptions,
): FilteredConfig {
  if (selection === undefined) return { config, wrap: [], unmatched: [] }
  const selected = selectNativeTools({ selection, servers: config.servers.map(({ name }) => name), tools })
  const wrap: WrappedServer[] = []
  const filtered = mapServers(config, (server) => {
    const fate = decideServer(server, selected, toolFilter)
    if (fate === 'leave out') return undefined
    if (!('why' in fate)) return fate.entry
    wrap.push({ name: server.name, why: fate.why })
    return undefined
  })
  return { config: filtered, wrap, unmatched: selected.unmatched }
}

type ServerDecision = 'leave out' | { readonly entry: JsonObject } | { readonly why: string }

function decideServer(
  { name, entry }: NativeServer,
  selected: NativeSelection,
  filter: NativeToolFilter = {},
): ServerDecision {
  if (selected.isFullySelected(name)) return { entry }
  const [open, kept] = [selected.includesUnknownTools(name), selected.selectedTools(name)]
  if (!open && kept.length === 0) return selected.maySelectUnknownTools(name) ? { why: UNKNOWN } : 'leave out'
  if (open && filter.exclude !== undefined && selected.excludesByName(name))
    return excludeTools(entry, filter.exclude, selected.excludedTools(name))
  if (filter.include === undefined) return { why: 'The agent has no filter of its own for single tools.' }
  if (kept.length === 0) return { why: UNKNOWN }
  return includeTools(entry, { key: filter.include, all: filter.all }, kept)
}

const UNKNOWN = 'Its tools are not known, so that those which are selected cannot be listed.'
const UNREADABLE = 'Its own filter for tools is not a list of names.'

function excludeTools(entry: JsonObject, key: string, dropped: readonly string[]): ServerDecision {
  const own = readNames(entry, key)
  if (own === 'unreadable') return { why: UNREADABLE }
  return { entry: { ...entry, [key]: [...new Set([...(own ?? []), ...dropped])] } }
}

interface IncludeFilter {
  readonly key: string
  readonly all: NativeToolFilter['all']
}

function includeTools(entry: JsonObject, { key, all }: IncludeFilter, kept: readonly string[]): ServerDecision {
  const own = readNames(entry, key)
  if (own === 'unreadable') return { why: UNREADABLE }
  const meansAll = all === '*' ? own?.includes('*') : all === 'if empty' && own?.length === 0
  const isNarrow = own !== undefined && meansAll !== true
  const left = isNarrow ? own.filter((tool) => kept.includes(tool)) : kept
  // An empty list could be taken for none at all.
  return left.length === 0 ? 'leave out' : { entry: { ...entry, [key]: left } }
}

function readNames(entry: JsonObject, key: string): readonly string[] | 'unreadable' | undefined {
  const value = Object.hasOwn(entry, key) ? entry[key] : undefined
  if (value === undefined) return undefined
  return isJsonList(value) && value.every((name) => typeof name === 'string') ? value : 'unreadable'
}

/** What a selection leaves of servers that an agent has under its own names. */
interface NativeSelection {
  /** Every tool of it, also those that nobody knows of. */
  isFullySelected(server: string): boolean
  /** Every tool that nothing takes away, also those that nobody knows of. */
  includesUnknownTools(server: string): boolean
  /** Whether what is taken away from it are single tools that are spelt out. */
  excludesByName(server: string): boolean
  /** Of the tools that are known or spelt out. */
  selectedTools(server: string): readonly string[]
  excludedTools(server: string): readonly string[]
  /** Whether tools of it are selected by a glob, and nobody knows which, or whether, those are. */
  maySelectUnknownTools(server: string): boolean
  /** Selectors that mean nothing here. */
  readonly unmatched: readonly string[]
}

interface SelectionInput {
  readonly selection: readonly string[]
  readonly servers: readonly string[]
  /** By the agent's name for the server or by our id for it. */
  readonly tools: readonly ToolRef[]
}

/** Stands for all tools that nobody knows of. Nobody calls a tool so, and no glob but a catch-all matches it. */
const UNKNOWN_TOOL = '\uE000'.repeat(64)

/**
 * People select by the ids that the gateway gives to servers (`my-server`), or by the agent's own names ("My Server").
 * A tool is added by either and taken away by either. An id that could be two servers adds neither.
 */
export function selectNativeTools(source: SelectionInput): NativeSelection {
  const world = createSelectionContext(source)
  const views = [compileSelection(world, (name) => name), compileSelection(world, toServerId)]
  const includes = (name: string, tool: string): boolean =>
    views.some((view) => view.adds(name, tool)) && views.every((view) => view.leaves(name, tool))
  const patterns = compileToolPatterns(source.selection, world.aliases)
  const includesUnknownTools = (name: string): boolean => includes(name, UNKNOWN_TOOL)
  const takers = (name: string): readonly string[] =>
    world.exclusions.filter((word) => mayMatchServer(word, name, world.aliases))
  return {
    includesUnknownTools,
    isFullySelected: (name) => includesUnknownTools(name) && takers(name).length === 0,
    excludesByName: (name) => takers(name).every(isExactToolName),
    selectedTools: (name) => world.listTools(name).filter((tool) => includes(name, tool)),
    excludedTools: (name) => world.listTools(name).filter((tool) => !includes(name, tool)),
    maySelectUnknownTools: (name) =>
      !world.hasKnownTools(name) &&
      patterns(name).included.some((tool) => hasGlob(tool) || !world.listTools(name).includes(tool)),
    unmatched: source.selection.filter((selector) => views.every((view) => view.unmatched.has(selector))),
  }
}

interface SelectionContext {
  readonly selection: readonly string[]
  /** The words that take away, without their sign. */
  readonly exclusions: readonly string[]
  readonly names: readonly string[]
  readonly aliases: ServerAliases
  /** Those that are known, and those that selectors spell out. */
  listTools(name: string): readonly string[]
  hasKnownTools(name: string): boolean
}

function createSelectionContext({ selection, servers, tools }: SelectionInput): SelectionContext {
  const names = [...new Set(servers)]
  const aliases = findServerAliases(names)
  const [known, mentioned] = [knownTools(tools, aliases), mentionedTools(selection, aliases)]
  return {
    ...{ selection, names, aliases },
    exclusions: selection.filter((selector) => selector.startsWith('!')).map((selector) => selector.slice(1)),
    hasKnownTools: (name) => (known.get(name)?.length ?? 0) > 0,
    listTools: (name) => [...new Set([...(known.get(name) ?? []), ...(mentioned.get(name) ?? [])])],
  }
}

/** What is selected where servers are called by these words. */
function compileSelection(
  { selection, exclusions, names, aliases, listTools }: SelectionContext,
  word: (name: string) => string,
) {
  const tools = names.flatMap((name) =>
    [...listTools(name), UNKNOWN_TOOL].map((tool) => ({ server: word(name), tool })),
  )
  const servers = names.map(word)
  const added = compileSelectors(selection, tools, { servers })
  const left = compileSelectors(['*', ...exclusions.map((selector) => `!${selector}`)], tools, { servers })
  return {
    adds: (name: string, tool: string) =>
      (aliases.get(name) ?? []).includes(word(name)) && added.includes({ server: word(name), tool }),
    leaves: (name: string, tool: string) => left.includes({ server: word(name), tool }),
    unmatched: new Set(added.unmatched),
  }
}

function knownTools(tools: readonly ToolRef[], writings: ServerAliases): ReadonlyMap<string, readonly string[]> {
  const byServer = new Map<string, string[]>()
  for (const { server, tool } of tools) {
    const same = byServer.get(server)
    if (same) same.push(tool)
    else byServer.set(server, [tool])
  }
  return new Map([...writings].map(([name, words]) => [name, words.flatMap((word) => byServer.get(word) ?? [])]))
}

/** Tools that selectors spell out, whether or not anybody knows them. */
function mentionedTools(selection: readonly string[], writings: ServerAliases): ReadonlyMap<string, readonly string[]> {
  const words = selection.map((selector) => selector.replace(/^!/, '')).filter(isExactToolName)
  return new Map(
    [...writings].map(([name, names]) => [
      name,
      words.flatMap((word) => names.flatMap((server) => parseToolPart(word, server) ?? [])),
    ]),
  )
}
