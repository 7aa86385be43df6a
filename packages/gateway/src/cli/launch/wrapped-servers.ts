import { isServerId, slugServerId } from '@sallyport/core'
import { type AgentOverlay, type NativeServer, type OwnFile, selectWrapped } from '../../agents/agents.ts'
import type { ServerFinder } from './gateway-servers.ts'
import type { OwnServers, Selections, WrapWish } from './own-servers.ts'
import { type PlannedWindow, type WindowPlace, windowOf } from './planned-window.ts'

export interface WrapOptions extends WindowPlace {
  readonly overlay: AgentOverlay
  readonly files: readonly OwnFile[]
  readonly own: OwnServers
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
  const { overlay, own } = options
  const servers: NativeServer[] = []
  const windows: PlannedWindow[] = []
  const notes: string[] = []
  const taken = new Set([...own.servers.map(({ name }) => name), ...stayingNames(options)])
  for (const wish of own.wraps) {
    const { tools, id, note } = narrow(wish, options)
    if (note !== undefined) notes.push(note)
    if (tools === undefined) continue
    const window: PlannedWindow = { key: String(windows.length + 1), tools }
    const name = freeName(overlay.carriesNone === undefined ? wish.found.name : id, taken)
    taken.add(name)
    windows.push(window)
    servers.push({ name, entry: overlay.entry(windowOf(options, window)) })
  }
  return { servers, windows, notes }
}

interface Narrowed {
  readonly id: string
  /** Undefined: it is left out. */
  readonly tools?: readonly string[]
  readonly note?: string
}

function narrow({ found, why, names }: WrapWish, { find, selections }: WrapOptions): Narrowed {
  const { name, server } = found
  const leftOut = (reason: string): Narrowed => ({ id: '', note: `${name} is left out. ${why} ${reason}` })
  if (!server.ok) return leftOut(`The gateway cannot have it: ${server.why}`)
  if (server.config.enabled === false) return { id: '' }
  const same = find(found)
  if (!same.ok) return leftOut(same.why)
  const { id } = same
  const tools = selectWrapped({ name, names, selections, config: server.config }, id)
  if (tools === undefined)
    return leftOut('What its profile and --tools have in common cannot be said: spell tools out.')
  if (tools.length === 0) return { id }
  const isSameName = id === name || id === (isServerId(name) ? name : slugServerId(name))
  // The gateway holds the run to its profile too, and knows its own names alone.
  if (isSameName || selections[0] === undefined) return { id, tools }
  return { id, tools, note: `The gateway calls ${name} ${id}: of its tools the profile must select ${id}/… as well.` }
}

/** Some agents add our entry to the user's of the same name, and the mixture would be neither. */
function stayingNames({ overlay, files }: WrapOptions): readonly string[] {
  const staying = files.filter(({ file }) => overlay.stays.includes(file.scope))
  return staying.flatMap(({ config }) => config.servers.map(({ name }) => name))
}

function freeName(wanted: string, taken: ReadonlySet<string>): string {
  if (!taken.has(wanted)) return wanted
  let name = `${wanted}-gw`
  for (let number = 2; taken.has(name); number++) name = `${wanted}-gw${number}`
  return name
}
