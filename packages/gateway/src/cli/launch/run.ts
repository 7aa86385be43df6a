import { SallyportError } from '@sallyport/core'
import { type AgentAdapter, findAdapter, findOverlay } from '../../agents/agents.ts'
import { createHostContext } from '../agent-place.ts'
import type { CliContext } from '../cli-context.ts'
import { findHome } from '../find-home.ts'
import type { GlobalFlags } from '../global-flags.ts'
import { leavesNoTools, readProfilesView } from '../profile-sight.ts'
import { printEntry } from './connect.ts'
import { createServerFinder } from './gateway-servers.ts'
import { launch } from './launch.ts'
import { planLaunch } from './launch-plan.ts'
import { printLaunchPlan } from './launch-print.ts'
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
  if (adapter.supportsMcp && findOverlay(adapter.id) === undefined)
    return printEntry(context, flags, { adapter, found, variant })
  const { home, state, content } = found
  const { selection, session } = await readLaunchProfile({ home, state }, { agent: adapter.id, variant })
  const folder = nameRunFolder(state)
  const plan = await planLaunch({
    ...{ adapter, state, args, tools },
    allowOtherServers: flags.allowOtherServers ?? false,
    folder: folder.path,
    host: createHostContext(context),
    native: native
      ? { selections: [selection, tools], openFinder: () => createServerFinder({ home, content }, context.environment) }
      : undefined,
  })
  const { program = adapter.program ?? adapter.id } = plan
  if (print) return printLaunchPlan(context, flags, { ...plan, program })
  if (plan.program === undefined) throw notInstalled(adapter)
  const zero = native ? [] : await warnIfNoTools(context, flags, { name: `${adapter.id}.${variant}`, selection })
  for (const note of [...zero, ...plan.notes]) context.process.stderr.write(`! ${note}\n`)
  const attended = plan.isAttended && isInTerminal(context)
  const identity = { agent: adapter.id, profile: variant, session, attended, otherServers: plan.otherServers }
  context.process.exitCode = await launch({ context, home, state, plan: { ...plan, program }, run: folder }, identity)
}

interface NamedSelection {
  readonly name: string
  readonly selection: readonly string[] | undefined
}

/** An agent that has no tool at all looks as if the gateway were broken. */
async function warnIfNoTools(context: CliContext, flags: RunFlags & GlobalFlags, { name, selection }: NamedSelection) {
  if (selection === undefined && flags.tools === undefined) return []
  if (!leavesNoTools(await readProfilesView(context, flags), [selection, flags.tools])) return []
  const who = [...(selection ? [`the profile ${name}`] : []), ...(flags.tools ? ['--tools'] : [])].join(' and ')
  return [
    `No tool is left by ${who}: the agent will have none of the gateway. \`sallyport tools\` shows what there is.`,
  ]
}

/** What the agent shows, a person sees; what a person types, the agent gets. */
const isInTerminal = ({ stdin, process: { stdout } }: CliContext): boolean => Boolean(stdin.isTTY && stdout.isTTY)

const notInstalled = ({ title, program }: AgentAdapter): SallyportError =>
  new SallyportError('AGENT_MISSING', `${title} is not installed here: no "${program}" was found in PATH.`, {
    hint: 'Install it, or add its folder to PATH.',
  })
