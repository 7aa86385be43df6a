import { isServerId, slugServerId } from '@sallyport/core'
import { type AgentOverlay, type NativeServer, type ParsedNativeFile, selectWrappedTools } from '../../agents/agents.ts'
import { buildWindowCommand, type PlannedWindow, type WindowPlace } from './planned-window.ts'
import type { SelectedServers, Selections, ServerToWrap } from './select-native-servers.ts'
import type { ServerFinder } from './server-finder.ts'

export interface WrapOptions extends WindowPlace {
  readonly overlay: AgentOverlay
  readonly files: readonly ParsedNativeFile[]
  readonly selected: SelectedServers
  readonly selections: Selections
  readonly find: ServerFinder
}

export interface WrappedServers {
  /** In the agent's own format. */
  readonly servers: readonly NativeServer[]
  readonly windows: readonly PlannedWindow[]
  readonly notes: readonly string[]
}

/** Replaces each server by a window of the gateway with only the selected tools of that server, or leaves it out. */
export function wrapServers(options: WrapOptions): WrappedServers {
  const { overlay, selected } = options
  const servers: NativeServer[] = []
  const windows: PlannedWindow[] = []
  const notes: string[] = []
  const taken = new Set([...selected.servers.map(({ name }) => name), ...listRemainingNames(options)])
  for (const wanted of selected.toWrap) {
    const { tools, id, note } = narrowServer(wanted, options)
    if (note !== undefined) notes.push(note)
    if (tools === undefined) continue
    const window: PlannedWindow = { key: String(windows.length + 1), tools }
    const name = chooseName(overlay.noNativeReason === undefined ? wanted.found.name : id, taken)
    taken.add(name)
    windows.push(window)
    servers.push({ name, entry: overlay.createEntry(buildWindowCommand(options, window)) })
  }
  return { servers, windows, notes }
}

interface NarrowedServer {
  readonly id: string
  /** `undefined`: the server is left out. */
  readonly tools?: readonly string[]
  readonly note?: string
}

function narrowServer({ found, why, names }: ServerToWrap, { find, selections }: WrapOptions): NarrowedServer {
  const { name, server } = found
  const leftOut = (reason: string): NarrowedServer => ({ id: '', note: `${name} is left out. ${why} ${reason}` })
  if (!server.ok) return leftOut(`The gateway cannot use it: ${server.why}`)
  if (server.config.enabled === false) return { id: '' }
  const same = find(found)
  if (!same.ok) return leftOut(same.why)
  const { id } = same
  const tools = selectWrappedTools({ name, names, selections, config: server.config }, id)
  if (tools === undefined)
    return leftOut('The tools that both its profile and --tools select cannot be determined: name each tool.')
  if (tools.length === 0) return { id }
  const isSameName = id === name || id === (isServerId(name) ? name : slugServerId(name))
  // The gateway applies the profile to the run too, and knows only its own names.
  if (isSameName || selections[0] === undefined) return { id, tools }
  return { id, tools, note: `The gateway calls ${name} ${id}: the profile must also select its tools as ${id}/….` }
}

/** Some agents merge our entry with the user's entry of the same name, and the result would be neither. */
function listRemainingNames({ overlay, files }: WrapOptions): readonly string[] {
  const remaining = files.filter(({ file }) => overlay.remainingScopes.includes(file.scope))
  return remaining.flatMap(({ config }) => config.servers.map(({ name }) => name))
}

function chooseName(wantedName: string, taken: ReadonlySet<string>): string {
  if (!taken.has(wantedName)) return wantedName
  let name = `${wantedName}-gw`
  for (let number = 2; taken.has(name); number++) name = `${wantedName}-gw${number}`
  return name
}
