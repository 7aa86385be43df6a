import { SallyportError } from '@sallyport/core'
import {
  type AgentAdapter,
  type AgentOverlay,
  type AgentPlace,
  findProgram,
  hasFlag,
  type NativeServer,
  type Overlay,
  type OwnFile,
  overlayOf,
} from '../../agents/agents.ts'
import { MAIN_FILE } from '../../package-root.ts'
import { readOwnFiles } from './own-files.ts'
import { selectOwnServers } from './own-servers.ts'

export interface PlanOptions {
  readonly adapter: AgentAdapter
  readonly place: AgentPlace
  /** The folder of the run. */
  readonly folder: string
  readonly state: string
  readonly args: readonly string[]
  /** Of its own servers those that every one of these selections leaves; without it the gateway is the only server. */
  readonly native?: readonly (readonly string[] | undefined)[] | undefined
}

/** What will be started, and what has to lie in the folder of the run before. */
export interface LaunchPlan extends Overlay {
  readonly program: string
}

/** A plan for an agent that may not be installed. */
export type DraftPlan = Overlay & Partial<LaunchPlan>

/** The name of our server: short, and without signs that agents fold or cut. */
const ALIAS = 'gw'

/** How an agent is started so that it has the right servers. Nothing is written yet. */
export async function planLaunch(options: PlanOptions): Promise<DraftPlan> {
  const { adapter, place, folder, state, args, native } = options
  const overlay = requireOverlay(adapter)
  refuseReserved(adapter, overlay, args)
  const program = findProgram(adapter.program ?? '', place)
  const own = await readOwnFiles(adapter, place)
  const request = { folder, place, args, native: own.files }
  if (native !== undefined) {
    const { servers, notes } = selectOwnServers(adapter, own.files, native)
    const made = overlay.overlay({ ...request, servers, ours: [] })
    return { ...made, ...(program !== undefined && { program }), notes: [...own.notes, ...notes, ...made.notes] }
  }
  const window = {
    command: process.execPath,
    args: [MAIN_FILE, 'serve', '--stdio', '--state', state, '--launch', folder],
  }
  const name = freeName(own.files)
  const servers: readonly NativeServer[] = [{ name, entry: overlay.entry(window) }]
  const made = overlay.overlay({ ...request, servers, ours: [name] })
  return { ...made, ...(program !== undefined && { program }), notes: [...own.notes, ...made.notes] }
}

function requireOverlay(adapter: AgentAdapter): AgentOverlay {
  requireMcp(adapter)
  const { id, title } = adapter
  const overlay = overlayOf(id)
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

/** Some agents add our entry to the user's of the same name, and the mixture would be neither. */
function freeName(files: readonly OwnFile[]): string {
  const taken = new Set(files.flatMap(({ config }) => config.servers.map(({ name }) => name)))
  let name = ALIAS
  for (let number = 2; taken.has(name); number++) name = `${ALIAS}${number}`
  return name
}

/** What would bring other servers back must not look as if it worked. */
function refuseReserved({ title }: AgentAdapter, { reserved, widening }: AgentOverlay, args: readonly string[]): void {
  const end = args.indexOf('--')
  const flags = args.slice(0, end < 0 ? undefined : end)
  const clash = reserved.find((flag) => hasFlag(flags, flag)) ?? widening?.(flags)
  if (clash === undefined) return
  throw new SallyportError('USAGE', `${clash} would change the servers of ${title}, which is what \`run\` is for.`, {
    hint: 'Leave it out, or start the agent without sallyport. Servers are added in config.yaml.',
  })
}
