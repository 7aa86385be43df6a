import { isJsonList, type JsonObject, type ToolRef } from '@sallyport/core'
import type { NativeConfig, NativeServer, NativeToolFilter } from './agent-adapter.ts'
import { type NativeSelection, selectNativeTools } from './native-selection.ts'
import { mapServers } from './native-servers.ts'

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
