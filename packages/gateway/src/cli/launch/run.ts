import { SallyportError } from '@sallyport/core'
import { type AgentAdapter, findAdapter, overlayOf } from '../../agents/agents.ts'
import { placeOf } from '../agent-place.ts'
import type { CliContext } from '../cli-context.ts'
import { findHome } from '../find-home.ts'
import type { GlobalFlags } from '../global-flags.ts'
import { showEntry } from './connect.ts'
import { readGatewayServers } from './gateway-servers.ts'
import { launch } from './launch.ts'
import { planLaunch } from './launch-plan.ts'
import { printPlan } from './launch-print.ts'
import { readLaunchProfile } from './launch-profile.ts'
import { nameRunFolder } from './run-folder.ts'

export interface RunFlags {
  readonly profile?: string
  readonly tools?: readonly string[]
  readonly native?: boolean
  readonly print?: boolean
  readonly allowOtherServers?: boolean
}

/** Starts an agent, or shows how it would be started. */
export async function run(context: CliContext, flags: RunFlags & GlobalFlags, words: readonly string[]): Promise<void> {
  const [name = '', ...args] = words
  const { profile: variant = 'default', tools, native, print } = flags
  const adapter = findAdapter(name)
  const found = await findHome(context, flags)
  if (adapter.supportsMcp && overlayOf(adapter.id) === undefined)
    return showEntry(context, flags, { adapter, found, variant })
  const { home, state, content } = found
  const { selection, session } = await readLaunchProfile({ home, state }, { agent: adapter.id, variant })
  const folder = nameRunFolder(state)
  const plan = await planLaunch({
    ...{ adapter, state, args, tools },
    allowOthers: flags.allowOtherServers ?? false,
    folder: folder.path,
    place: placeOf(context),
    native: native
      ? { selections: [selection, tools], openFinder: () => readGatewayServers({ home, content }, context.environment) }
      : undefined,
  })
  const { program = adapter.program ?? adapter.id } = plan
  if (print) return printPlan(context, flags, { ...plan, program })
  if (plan.program === undefined) throw notInstalled(adapter)
  for (const note of plan.notes) context.process.stderr.write(`! ${note}\n`)
  const attended = plan.isAttended && isInTerminal(context)
  const identity = { agent: adapter.id, profile: variant, session, attended, others: plan.others }
  context.process.exitCode = await launch({ context, home, state, plan: { ...plan, program }, run: folder }, identity)
}

/** What the agent shows, a person sees; what a person types, the agent gets. */
const isInTerminal = ({ stdin, process: { stdout } }: CliContext): boolean => Boolean(stdin.isTTY && stdout.isTTY)

const notInstalled = ({ title, program }: AgentAdapter): SallyportError =>
  new SallyportError('AGENT_MISSING', `${title} is not installed here: no "${program}" was found in PATH.`, {
    hint: 'Install it, or add its folder to PATH.',
  })
