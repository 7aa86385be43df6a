import { quoteForShell, SallyportError } from '@sallyport/core'
import { MAIN_FILE } from '../../package-root.ts'
import { createHostContext } from '../agent-place.ts'
import type { CliContext } from '../cli-context.ts'
import { findHome } from '../find-home.ts'
import type { GlobalFlags } from '../global-flags.ts'
import { createScreen } from '../screen.ts'
import { buildExecutorDefinition } from './executor-definition.ts'
import { HOOK_AGENTS, type HookAgentName } from './hook-agent.ts'
import { buildHookEntry } from './hook-entry.ts'
import { readIsolationSources } from './rule-places.ts'

export interface InstallFlags {
  readonly print?: boolean
  readonly govern?: boolean
  readonly strict?: boolean
}

/** Prints what a person pastes into an agent's own files (AG-21). */
export async function printHookInstall(
  context: CliContext,
  flags: InstallFlags & GlobalFlags,
  agentName: HookAgentName,
): Promise<void> {
  if (!flags.print) {
    throw new SallyportError('USAGE', 'An agent’s own files are never written.', {
      hint: `See what to paste, and where, with \`sallyport hook install --print ${agentName}\`.`,
    })
  }
  const screen = createScreen(context, flags)
  const [agent, host] = [HOOK_AGENTS[agentName], createHostContext(context)]
  const { home, state } = await findHome(context, flags)
  // A home that came with a folder is looked for where the agent works.
  const named = home.origin === 'project' ? [] : ['--home', home.path]
  const governing = [...(flags.govern ? ['--govern'] : []), ...(flags.strict ? ['--strict'] : [])]
  const words = [process.execPath, MAIN_FILE, 'hook', agentName, ...named, '--state', state, ...governing]
  const command = words.map(quoteForShell).join(' ')
  const entry = buildHookEntry(agentName, { host, command, tools: flags.govern ? 'all' : 'of servers' })
  const sources = await readIsolationSources(agent, context, { home: flags.home, host })
  const executor = buildExecutorDefinition({ agentName, agent, host, sources })
  if (screen.json) return screen.printJson({ agent: agent.adapter.id, hook: entry, executor })
  screen.printMessage(`Paste this into ${entry.file}, beside what is there:\n`)
  screen.print(entry.text)
  screen.printMessage(
    `\nWhere ${agent.adapter.title} has not the gateway among its servers, save this as ${executor.file}:\n`,
  )
  screen.print(executor.text)
  screen.printMessage(
    '\nThe hook fails open: when it crashes, the call goes on. What must hold belongs behind the gateway.',
  )
}
