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
  /** In the agent's own shape. */
  readonly servers: readonly NativeServer[]
  readonly windows: readonly PlannedWindow[]
  readonly notes: readonly string[]
}

/** Windows of the gateway in place of servers, each with what is selected of that server alone; else they are left out. */
export function wrapServers(options: WrapOptions): WrappedServers {
  const { overlay, selected } = options
  const servers: NativeServer[] = []
  const windows: PlannedWindow[] = []
  const notes: string[] = []
  const taken = new Set([...selected.servers.map(({ name }) => name), ...listRemainingNames(options)])
  for (const wish of selected.toWrap) {
    const { tools, id, note } = narrowServer(wish, options)
    if (note !== undefined) notes.push(note)
    if (tools === undefined) continue
    const window: PlannedWindow = { key: String(windows.length + 1), tools }
    const name = chooseName(overlay.noNativeReason === undefined ? wish.found.name : id, taken)
    taken.add(name)
    windows.push(window)
    servers.push({ name, entry: overlay.createEntry(buildWindowCommand(options, window)) })
  }
  return { servers, windows, notes }
}

interface NarrowedServer {
  readonly id: string
  /** Undefined: it is left out. */
  readonly tools?: readonly string[]
  readonly note?: string
}

function narrowServer({ found, why, names }: ServerToWrap, { find, selections }: WrapOptions): NarrowedServer {
  const { name, server } = found
  const leftOut = (reason: string): NarrowedServer => ({ id: '', note: `${name} is left out. ${why} ${reason}` })
  if (!server.ok) return leftOut(`The gateway cannot have it: ${server.why}`)
  if (server.config.enabled === false) return { id: '' }
  const same = find(found)
  if (!same.ok) return leftOut(same.why)
  const { id } = same
  const tools = selectWrappedTools({ name, names, selections, config: server.config }, id)
  if (tools === undefined)
    return leftOut('What its profile and --tools have in common cannot be said: spell tools out.')
  if (tools.length === 0) return { id }
  const isSameName = id === name || id === (isServerId(name) ? name : slugServerId(name))
  // The gateway holds the run to its profile too, and knows its own names alone.
  if (isSameName || selections[0] === undefined) return { id, tools }
  return { id, tools, note: `The gateway calls ${name} ${id}: of its tools the profile must select ${id}/… as well.` }
}

/** Some agents add our entry to the user's of the same name, and the mixture would be neither. */
function listRemainingNames({ overlay, files }: WrapOptions): readonly string[] {
  const staying = files.filter(({ file }) => overlay.remainingScopes.includes(file.scope))
  return staying.flatMap(({ config }) => config.servers.map(({ name }) => name))
}

function chooseName(wanted: string, taken: ReadonlySet<string>): string {
  if (!taken.has(wanted)) return wanted
  let name = `${wanted}-gw`
  for (let number = 2; taken.has(name); number++) name = `${wanted}-gw${number}`
  return name
}
