import { randomInt } from 'node:crypto'
import { SallyportError } from '@sallyport/core'
import {
  type AgentAdapter,
  type AgentOverlay,
  findOtherServers,
  findOverlay,
  findProgram,
  type HostContext,
  hasFlag,
  type NativeFile,
  type Overlay,
  type OverlayRequest,
  type ParsedNativeFile,
  projectFolders,
  readAgentConfigs,
  type SourceSearch,
} from '../../agents/agents.ts'
import { buildWindowCommand, ONLY_WINDOW, type PlannedWindow } from './planned-window.ts'
import { type Selections, selectNativeServers } from './select-native-servers.ts'
import type { ServerFinder } from './server-finder.ts'
import { wrapServers } from './wrapped-servers.ts'

export interface PlanOptions {
  readonly adapter: AgentAdapter
  readonly host: HostContext
  /** The run folder. */
  readonly folder: string
  readonly state: string
  readonly args: readonly string[]
  /** Selectors that narrow the profile further, for this run only. */
  readonly tools: readonly string[] | undefined
  /** Start the agent with its own servers; without it the gateway is its only server. */
  readonly native?: NativeOptions | undefined
  /** Start the agent even if it will have servers that the gateway does not govern. */
  readonly allowOtherServers: boolean
}

export interface NativeOptions {
  /** A server of the agent has to pass every one of these. */
  readonly selections: Selections
  /** Called only if the agent itself cannot apply the selection to one of its servers. */
  readonly openFinder: () => Promise<ServerFinder>
}

/** What will be started, and which files the run folder needs before. */
export interface LaunchPlan extends Overlay {
  readonly program: string
  /** The windows of the gateway that the agent gets; if there are none, no gateway is needed. */
  readonly windows: readonly PlannedWindow[]
  /** In a terminal, the agent shows questions of servers to a person. */
  readonly isAttended: boolean
  /** Sources of servers that the gateway does not govern; the user allowed them. */
  readonly otherServers: readonly string[]
}

/** A plan for an agent that may not be installed. */
export type DraftPlan = Omit<LaunchPlan, 'program'> & Partial<LaunchPlan>

/** The name of our server: short, and without characters that agents replace or remove. */
const SERVER_NAME = 'gw'

/** Plans how to start an agent with the right servers. Nothing is written yet. */
export async function planLaunch(options: PlanOptions): Promise<DraftPlan> {
  const { adapter, host, folder, args } = options
  const overlay = requireOverlay(adapter)
  assertNoReserved(adapter, overlay, args)
  const program = findProgram(adapter.program ?? '', host)
  const folders = projectFolders(host.cwd, argsBeforeSeparator(args))
  const own = await collectNativeFiles(adapter, host, folders)
  const search = { host, folders, args: argsBeforeSeparator(args), native: own.files, servers: [] }
  const isTaken = (await overlay.mayNameServer?.(SERVER_NAME, search)) ?? false
  const { servers, ours, windows, notes } = await planServers(options, overlay, { files: own.files, isTaken })
  const others = await collectOtherServers(options, overlay, { ...search, servers, broken: own.broken })
  const overlayResult = overlay.overlay({ folder, host, args, native: own.files, servers, ours })
  return {
    ...overlayResult,
    ...(program !== undefined && { program }),
    windows,
    isAttended: overlay.isAttended?.(args) ?? false,
    otherServers: others,
    notes: [
      ...own.notes,
      ...notes,
      ...overlayResult.notes,
      ...others.map((one) => `${one}: its servers are not governed.`),
    ],
  }
}

/** The agent's own flags and commands; arguments after `--` are neither. */
function argsBeforeSeparator(args: readonly string[]): readonly string[] {
  const end = args.indexOf('--')
  return args.slice(0, end < 0 ? undefined : end)
}

/** With all of the agent's own servers selected, other servers are no problem. */
async function collectOtherServers(
  { adapter, native, allowOtherServers }: PlanOptions,
  { sources, remainingScopes }: AgentOverlay,
  search: SourceSearch & Pick<CollectedFiles, 'broken'>,
): Promise<readonly string[]> {
  if (native?.selections.every((selection) => selection === undefined)) return []
  // The agent may be able to read a file that we cannot.
  const unknown = search.broken.filter(({ scope }) => remainingScopes.includes(scope)).map(({ path }) => path)
  const found = [...new Set([...unknown, ...(await findOtherServers(sources, search))])]
  if (found.length === 0 || allowOtherServers) return found
  throw new SallyportError(
    'AGENT_NOT_STRICT',
    `${adapter.title} was not started: it would have MCP servers that the gateway does not govern, from ${found.join(', ')}.`,
    {
      hint: 'Remove the servers from there (`sallyport import` puts them behind the gateway), or start it with --allow-other-servers, which is recorded.',
    },
  )
}

interface PlannedServers extends Pick<OverlayRequest, 'servers' | 'ours'> {
  readonly windows: readonly PlannedWindow[]
  readonly notes: readonly string[]
}

interface KnownNames extends Pick<CollectedFiles, 'files'> {
  /** Another source may define a server with our usual name. */
  readonly isTaken: boolean
}

async function planServers(options: PlanOptions, overlay: AgentOverlay, known: KnownNames): Promise<PlannedServers> {
  const { adapter, folder, state, tools, native } = options
  const { files } = known
  if (native === undefined) {
    const window = { key: ONLY_WINDOW, tools }
    const name = chooseName(known)
    const servers = [{ name, entry: overlay.createEntry(buildWindowCommand({ folder, state }, window)) }]
    return { servers, ours: [name], windows: [window], notes: [] }
  }
  const { selections, openFinder } = native
  const selected = selectNativeServers(adapter, { files, selections, noNativeReason: overlay.noNativeReason })
  if (selected.toWrap.length === 0) return { servers: selected.servers, ours: [], windows: [], notes: selected.notes }
  const wrapped = wrapServers({ overlay, files, selected, selections, folder, state, find: await openFinder() })
  return {
    servers: [...selected.servers, ...wrapped.servers],
    ours: wrapped.servers.map(({ name }) => name),
    windows: wrapped.windows,
    notes: [...selected.notes, ...wrapped.notes],
  }
}

function requireOverlay(adapter: AgentAdapter): AgentOverlay {
  requireMcp(adapter)
  const { id, title } = adapter
  const overlay = findOverlay(id)
  if (overlay !== undefined) return overlay
  throw new SallyportError('USAGE', `${title} cannot be given other servers for one run.`, {
    hint: `\`sallyport connect ${id}\` prints the entry to paste into its own file.`,
  })
}

export function requireMcp({ title, supportsMcp }: AgentAdapter): void {
  if (!supportsMcp)
    throw new SallyportError('USAGE', `${title} uses no MCP servers: there is nothing to connect it with.`, {
      hint: '`sallyport agents` shows those that do.',
    })
}

/**
 * Some agents merge our entry with the user's entry of the same name, and the result would be neither. If another
 * source could also define the next name, a random name is used that nobody can guess.
 */
function chooseName({ files, isTaken }: KnownNames): string {
  const taken = new Set(files.flatMap(({ config }) => config.servers.map(({ name }) => name)))
  let name = isTaken ? `${SERVER_NAME}${randomInt(10_000, 100_000)}` : SERVER_NAME
  for (let number = 2; taken.has(name); number++) name = `${SERVER_NAME}${number}`
  return name
}

/** Refuses flags and commands that would change the agent's servers, instead of ignoring them silently. */
function assertNoReserved(
  { title }: AgentAdapter,
  { reservedFlags, reservedCommands = [], findWideningFlag }: AgentOverlay,
  args: readonly string[],
): void {
  const flags = argsBeforeSeparator(args)
  const clash =
    reservedFlags.find((flag) => hasFlag(flags, flag)) ??
    findWideningFlag?.(flags) ??
    reservedCommands.find((command) => flags.includes(command))
  if (clash === undefined) return
  throw new SallyportError('USAGE', `${clash} would change the servers of ${title}, which is what \`run\` is for.`, {
    hint: 'Leave it out, or start the agent without sallyport. Servers are added in config.yaml.',
  })
}

interface CollectedFiles {
  readonly files: readonly ParsedNativeFile[]
  /** Project files that could not be read. */
  readonly broken: readonly NativeFile[]
  /** Warnings about these files. */
  readonly notes: readonly string[]
}

/** Reads all files of an agent that may apply in one of these folders, the outermost first. */
async function collectNativeFiles(
  adapter: AgentAdapter,
  host: HostContext,
  folders: readonly string[],
): Promise<CollectedFiles> {
  const seen = new Set<string>()
  const files: ParsedNativeFile[] = []
  const broken: NativeFile[] = []
  const notes: string[] = []
  for (const cwd of folders) {
    for (const reading of await readAgentConfigs(adapter, { ...host, cwd })) {
      const { path, scope, project } = reading.file
      // From a folder below the home folder, the user's own file looks like a project file.
      const key = JSON.stringify([path, project])
      if (seen.has(key) || reading.state === 'missing') continue
      seen.add(key)
      if (reading.state === 'read') files.push(reading)
      // Without the user's own settings the agent would not behave as the user expects.
      else if (scope === 'user') throw reading.error
      else {
        broken.push(reading.file)
        notes.push(`${reading.error.text} Servers in it are not known.`)
      }
    }
  }
  return { files, broken, notes }
}
