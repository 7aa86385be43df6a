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

/** An agent's own servers after a selection. */
export interface FilteredConfig {
  /** In the agent's own format: selected servers unchanged, or narrowed by the agent's own filter. */
  readonly config: NativeConfig
  /**
   * Not in `config`, because the agent cannot apply the selection to them: they go through the gateway or are left out.
   */
  readonly wrap: readonly WrappedServer[]
  /** Selectors that match nothing here. */
  readonly unmatched: readonly string[]
}

export interface WrappedServer {
  readonly name: string
  readonly why: string
}

export interface FilterOptions {
  /** The known tools, by the agent's name for the server or by our id for it. */
  readonly tools: readonly ToolRef[]
  readonly toolFilter: NativeToolFilter | undefined
}

/** Applies a selection. It can only remove servers and tools (AG-9). Without a selection nothing changes. */
export function applyAgentMcpFilter(
  config: NativeConfig,
  selection: readonly string[] | undefined,
  { tools, toolFilter }: FilterOptions,
): FilteredConfig {
  if (selection === undefined) return { config, wrap: [], unmatched: [] }
  const selected = selectNativeTools({ selection, servers: config.servers.map(({ name }) => name), tools })
  const wrap: WrappedServer[] = []
  const filtered = mapServers(config, (server) => {
    const decision = decideServer(server, selected, toolFilter)
    if (decision === 'leave out') return undefined
    if (!('why' in decision)) return decision.entry
    wrap.push({ name: server.name, why: decision.why })
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
  const [open, toolNames] = [selected.includesUnknownTools(name), selected.selectedTools(name)]
  if (!open && toolNames.length === 0) return selected.maySelectUnknownTools(name) ? { why: UNKNOWN } : 'leave out'
  if (open && filter.exclude !== undefined && selected.excludesByName(name))
    return excludeTools(entry, filter.exclude, selected.excludedTools(name))
  if (filter.include === undefined) return { why: 'The agent has no filter of its own for single tools.' }
  if (toolNames.length === 0) return { why: UNKNOWN }
  return includeTools(entry, { key: filter.include, all: filter.all }, toolNames)
}

const UNKNOWN = 'Its tools are not known, so the selected ones cannot be listed.'
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

function includeTools(entry: JsonObject, { key, all }: IncludeFilter, toolNames: readonly string[]): ServerDecision {
  const own = readNames(entry, key)
  if (own === 'unreadable') return { why: UNREADABLE }
  const meansAll = all === '*' ? own?.includes('*') : all === 'if empty' && own?.length === 0
  const isNarrow = own !== undefined && meansAll !== true
  const left = isNarrow ? own.filter((tool) => toolNames.includes(tool)) : toolNames
  // The agent could treat an empty list as no list.
  return left.length === 0 ? 'leave out' : { entry: { ...entry, [key]: left } }
}

function readNames(entry: JsonObject, key: string): readonly string[] | 'unreadable' | undefined {
  const value = Object.hasOwn(entry, key) ? entry[key] : undefined
  if (value === undefined) return undefined
  return isJsonList(value) && value.every((name) => typeof name === 'string') ? value : 'unreadable'
}

/** A selection, applied to an agent's servers under the agent's own names. */
interface NativeSelection {
  /** Whether every tool is selected, including unknown ones. */
  isFullySelected(server: string): boolean
  /** Whether every tool that is not excluded is selected, including unknown ones. */
  includesUnknownTools(server: string): boolean
  /** Whether only single tools are excluded, each by its full name. */
  excludesByName(server: string): boolean
  /** Among the tools that are known or named in full. */
  selectedTools(server: string): readonly string[]
  excludedTools(server: string): readonly string[]
  /** Whether a glob selects tools of this server, but its tools are not known. */
  maySelectUnknownTools(server: string): boolean
  /** Selectors that match nothing here. */
  readonly unmatched: readonly string[]
}

interface SelectionInput {
  readonly selection: readonly string[]
  readonly servers: readonly string[]
  /** By the agent's name for the server or by our id for it. */
  readonly tools: readonly ToolRef[]
}

/** Represents all unknown tools. No real tool has this name, and only a catch-all glob matches it. */
const UNKNOWN_TOOL = '\uE000'.repeat(64)

/**
 * People select by the ids that the gateway gives to servers (`my-server`), or by the agent's own names ("My Server").
 * Either can include a tool, and either can exclude it. An id that could mean two servers includes neither.
 */
export function selectNativeTools(source: SelectionInput): NativeSelection {
  const context = createSelectionContext(source)
  const views = [compileSelection(context, (name) => name), compileSelection(context, toServerId)]
  const includes = (name: string, tool: string): boolean =>
    views.some((view) => view.adds(name, tool)) && views.every((view) => view.leaves(name, tool))
  const patterns = compileToolPatterns(source.selection, context.aliases)
  const includesUnknownTools = (name: string): boolean => includes(name, UNKNOWN_TOOL)
  const exclusionsFor = (name: string): readonly string[] =>
    context.exclusions.filter((word) => mayMatchServer(word, name, context.aliases))
  return {
    includesUnknownTools,
    isFullySelected: (name) => includesUnknownTools(name) && exclusionsFor(name).length === 0,
    excludesByName: (name) => exclusionsFor(name).every(isExactToolName),
    selectedTools: (name) => context.listTools(name).filter((tool) => includes(name, tool)),
    excludedTools: (name) => context.listTools(name).filter((tool) => !includes(name, tool)),
    maySelectUnknownTools: (name) =>
      !context.hasKnownTools(name) &&
      patterns(name).included.some((tool) => hasGlob(tool) || !context.listTools(name).includes(tool)),
    unmatched: source.selection.filter((selector) => views.every((view) => view.unmatched.has(selector))),
  }
}

interface SelectionContext {
  readonly selection: readonly string[]
  /** The excluding selectors, without `!`. */
  readonly exclusions: readonly string[]
  readonly names: readonly string[]
  readonly aliases: ServerAliases
  /** The known tools, and those that selectors name in full. */
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

/** Compiles the selection with servers under the names that `word` returns. */
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

function knownTools(tools: readonly ToolRef[], aliases: ServerAliases): ReadonlyMap<string, readonly string[]> {
  const byServer = new Map<string, string[]>()
  for (const { server, tool } of tools) {
    const same = byServer.get(server)
    if (same) same.push(tool)
    else byServer.set(server, [tool])
  }
  return new Map([...aliases].map(([name, words]) => [name, words.flatMap((word) => byServer.get(word) ?? [])]))
}

/** Tools that selectors name in full, known or not. */
function mentionedTools(selection: readonly string[], aliases: ServerAliases): ReadonlyMap<string, readonly string[]> {
  const words = selection.map((selector) => selector.replace(/^!/, '')).filter(isExactToolName)
  return new Map(
    [...aliases].map(([name, names]) => [
      name,
      words.flatMap((word) => names.flatMap((server) => parseToolPart(word, server) ?? [])),
    ]),
  )
}
