import { isJsonList, type JsonObject, type ToolRef } from '@sallyport/core'
import type { NativeConfig, NativeServer, NativeToolFilter } from './agent-adapter.ts'
import { type NativeSelection, selectNative } from './native-selection.ts'
import { withServers } from './native-servers.ts'

/** What a selection leaves of an agent's own servers. */
export interface NativeFiltering {
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

export interface FilterFacts {
  /** What is known of the servers' tools, by the agent's name for the server or by our id for it. */
  readonly tools: readonly ToolRef[]
  readonly toolFilter: NativeToolFilter | undefined
}

/** Only ever takes away (AG-9). Without a selection everything stays the same. */
export function applyAgentMcpFilter(
  config: NativeConfig,
  selection: readonly string[] | undefined,
  { tools, toolFilter }: FilterFacts,
): NativeFiltering {
  if (selection === undefined) return { config, wrap: [], unmatched: [] }
  const selected = selectNative({ selection, servers: config.servers.map(({ name }) => name), tools })
  const wrap: WrappedServer[] = []
  const filtered = withServers(config, (server) => {
    const fate = decide(server, selected, toolFilter)
    if (fate === 'leave out') return undefined
    if (!('why' in fate)) return fate.entry
    wrap.push({ name: server.name, why: fate.why })
    return undefined
  })
  return { config: filtered, wrap, unmatched: selected.unmatched }
}

type Fate = 'leave out' | { readonly entry: JsonObject } | { readonly why: string }

function decide({ name, entry }: NativeServer, selected: NativeSelection, filter: NativeToolFilter = {}): Fate {
  if (selected.whole(name)) return { entry }
  const [open, kept] = [selected.open(name), selected.kept(name)]
  if (!open && kept.length === 0) return selected.mayKeep(name) ? { why: UNKNOWN } : 'leave out'
  if (open && filter.exclude !== undefined && selected.takesByName(name))
    return excluding(entry, filter.exclude, selected.dropped(name))
  if (filter.include === undefined) return { why: 'The agent has no filter of its own for single tools.' }
  if (kept.length === 0) return { why: UNKNOWN }
  return including(entry, { key: filter.include, all: filter.all }, kept)
}

const UNKNOWN = 'Its tools are not known, so that those which are selected cannot be listed.'
const UNREADABLE = 'Its own filter for tools is not a list of names.'

function excluding(entry: JsonObject, key: string, dropped: readonly string[]): Fate {
  const own = namesAt(entry, key)
  if (own === 'unreadable') return { why: UNREADABLE }
  return { entry: { ...entry, [key]: [...new Set([...(own ?? []), ...dropped])] } }
}

interface Including {
  readonly key: string
  readonly all: NativeToolFilter['all']
}

function including(entry: JsonObject, { key, all }: Including, kept: readonly string[]): Fate {
  const own = namesAt(entry, key)
  if (own === 'unreadable') return { why: UNREADABLE }
  const meansAll = all === '*' ? own?.includes('*') : all === 'if empty' && own?.length === 0
  const isNarrow = own !== undefined && meansAll !== true
  const left = isNarrow ? own.filter((tool) => kept.includes(tool)) : kept
  // An empty list could be taken for none at all.
  return left.length === 0 ? 'leave out' : { entry: { ...entry, [key]: left } }
}

function namesAt(entry: JsonObject, key: string): readonly string[] | 'unreadable' | undefined {
  const value = Object.hasOwn(entry, key) ? entry[key] : undefined
  if (value === undefined) return undefined
  return isJsonList(value) && value.every((name) => typeof name === 'string') ? value : 'unreadable'
}
