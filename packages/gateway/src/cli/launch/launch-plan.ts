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
  /** The folder of the run. */
  readonly folder: string
  readonly state: string
  readonly args: readonly string[]
  /** Narrows the profile further, for this run alone. */
  readonly tools: readonly string[] | undefined
  /** Its own servers are meant; without it the gateway is the only one. */
  readonly native?: NativeOptions | undefined
  /** It is started even if it will have servers that are not governed. */
  readonly allowOtherServers: boolean
}

export interface NativeOptions {
  /** Of its own servers those that every one of these leaves. */
  readonly selections: Selections
  /** Asked only when there is a server that the agent cannot be given as it is selected. */
  readonly openFinder: () => Promise<ServerFinder>
}

/** What will be started, and what has to lie in the folder of the run before. */
export interface LaunchPlan extends Overlay {
  readonly program: string
  /** What the agent will have of the gateway; without any, no gateway is needed. */
  readonly windows: readonly PlannedWindow[]
  /** In a terminal, a person is shown what a server asks. */
  readonly isAttended: boolean
  /** What gives the agent servers that are not governed; it was allowed. */
  readonly otherServers: readonly string[]
}

/** A plan for an agent that may not be installed. */
export type DraftPlan = Omit<LaunchPlan, 'program'> & Partial<LaunchPlan>

/** The name of our server: short, and without signs that agents fold or cut. */
const SERVER_NAME = 'gw'

/** How an agent is started so that it has the right servers. Nothing is written yet. */
export async function planLaunch(options: PlanOptions): Promise<DraftPlan> {
  const { adapter, host, folder, args } = options
  const overlay = requireOverlay(adapter)
  assertNoReserved(adapter, overlay, args)
  const program = findProgram(adapter.program ?? '', host)
  const folders = projectFolders(host.cwd, argsBeforeSeparator(args))
  const own = await collectNativeFiles(adapter, host, folders)
  const search = { host: host, folders, args: argsBeforeSeparator(args), native: own.files, servers: [] }
  const isTaken = (await overlay.mayNameServer?.(SERVER_NAME, search)) ?? false
  const { servers, ours, windows, notes } = await planServers(options, overlay, { files: own.files, isTaken })
  const others = await collectOtherServers(options, overlay, { ...search, servers, broken: own.broken })
  const made = overlay.overlay({ folder, host, args, native: own.files, servers, ours })
  return {
    ...made,
    ...(program !== undefined && { program }),
    windows,
    isAttended: overlay.isAttended?.(args) ?? false,
    otherServers: others,
    notes: [...own.notes, ...notes, ...made.notes, ...others.map((one) => `${one}: its servers are not governed.`)],
  }
}

/** The agent's own flags and words; what follows after `--` is neither. */
function argsBeforeSeparator(args: readonly string[]): readonly string[] {
  const end = args.indexOf('--')
  return args.slice(0, end < 0 ? undefined : end)
}

/** Whoever wants all of an agent's own servers is not kept from having more of them. */
async function collectOtherServers(
  { adapter, native, allowOtherServers }: PlanOptions,
  { sources, remainingScopes }: AgentOverlay,
  search: SourceSearch & Pick<CollectedFiles, 'broken'>,
): Promise<readonly string[]> {
  if (native?.selections.every((selection) => selection === undefined)) return []
  // The agent may understand a file that we do not.
  const unknown = search.broken.filter(({ scope }) => remainingScopes.includes(scope)).map(({ path }) => path)
  const found = [...new Set([...unknown, ...(await findOtherServers(sources, search))])]
  if (found.length === 0 || allowOtherServers) return found
  throw new SallyportError(
    'AGENT_NOT_STRICT',
    `${adapter.title} was not started: it would have MCP servers that the gateway does not govern, from ${found.join(', ')}.`,
    {
      hint: 'Take the servers out of there (`sallyport import` brings them behind the gateway), or start it with --allow-other-servers, which is recorded.',
    },
  )
}

interface PlannedServers extends Pick<OverlayRequest, 'servers' | 'ours'> {
  readonly windows: readonly PlannedWindow[]
  readonly notes: readonly string[]
}

interface KnownNames extends Pick<CollectedFiles, 'files'> {
  /** Something besides these files may bring a server of our usual name. */
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
 * Some agents add our entry to the user's of the same name, and the mixture would be neither. Where others could wait
 * for the next name too, nobody can guess it.
 */
function chooseName({ files, isTaken }: KnownNames): string {
  const taken = new Set(files.flatMap(({ config }) => config.servers.map(({ name }) => name)))
  let name = isTaken ? `${SERVER_NAME}${randomInt(10_000, 100_000)}` : SERVER_NAME
  for (let number = 2; taken.has(name); number++) name = `${SERVER_NAME}${number}`
  return name
}

/** What would bring other servers back must not look as if it worked. */
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
  /** Those of a project that could not be read. */
  readonly broken: readonly NativeFile[]
  /** What a person should know of these. */
  readonly notes: readonly string[]
}

/** All that an agent's own files say that may count in one of these folders, the outermost first. */
async function collectNativeFiles(
  adapter: AgentAdapter,
  place: HostContext,
  folders: readonly string[],
): Promise<CollectedFiles> {
  const seen = new Set<string>()
  const files: ParsedNativeFile[] = []
  const broken: NativeFile[] = []
  const notes: string[] = []
  for (const cwd of folders) {
    for (const reading of await readAgentConfigs(adapter, { ...place, cwd })) {
      const { path, scope, project } = reading.file
      // Seen from a folder below the home, the user's own file looks like one of a project.
      const key = JSON.stringify([path, project])
      if (seen.has(key) || reading.state === 'missing') continue
      seen.add(key)
      if (reading.state === 'read') files.push(reading)
      // Without the user's own settings the agent would be another one than they know.
      else if (scope === 'user') throw reading.error
      else {
        broken.push(reading.file)
        notes.push(`${reading.error.text} Servers in it are not known.`)
      }
    }
  }
  return { files, broken, notes }
}
