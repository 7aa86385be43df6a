import { SallyportError, shellWord } from '@sallyport/core'
import { MAIN_FILE } from '../../package-root.ts'
import { placeOf } from '../agent-place.ts'
import type { CliContext } from '../cli-context.ts'
import { findHome } from '../find-home.ts'
import type { GlobalFlags } from '../global-flags.ts'
import { createScreen } from '../screen.ts'
import { executorDefinition } from './executor-definition.ts'
import { HOOK_AGENTS, type HookWord } from './hook-agent.ts'
import { hookEntry } from './hook-entry.ts'
import { readPlaces } from './rule-places.ts'

export interface InstallFlags {
  readonly print?: boolean
  readonly govern?: boolean
  readonly strict?: boolean
}

/** Prints what a person pastes into an agent's own files (AG-21). */
export async function install(context: CliContext, flags: InstallFlags & GlobalFlags, word: HookWord): Promise<void> {
  if (!flags.print) {
    throw new SallyportError('USAGE', 'An agent’s own files are never written.', {
      hint: `See what to paste, and where, with \`sallyport hook install --print ${word}\`.`,
    })
  }
  const screen = createScreen(context, flags)
  const [agent, place] = [HOOK_AGENTS[word], placeOf(context)]
  const { home, state } = await findHome(context, flags)
  // A home that came with a folder is looked for where the agent works.
  const named = home.origin === 'project' ? [] : ['--home', home.path]
  const governing = [...(flags.govern ? ['--govern'] : []), ...(flags.strict ? ['--strict'] : [])]
  const words = [process.execPath, MAIN_FILE, 'hook', word, ...named, '--state', state, ...governing]
  const command = words.map(shellWord).join(' ')
  const entry = hookEntry(word, { place, command, tools: flags.govern ? 'all' : 'of servers' })
  const places = await readPlaces(agent, context, { home: flags.home, place })
  const executor = executorDefinition({ word, agent, place, places })
  if (screen.json) return screen.dataJson({ agent: agent.adapter.id, hook: entry, executor })
  screen.say(`Paste this into ${entry.file}, beside what is there:\n`)
  screen.data(entry.text)
  screen.say(`\nWhere ${agent.adapter.title} has not the gateway among its servers, save this as ${executor.file}:\n`)
  screen.data(executor.text)
  screen.say('\nThe hook fails open: when it crashes, the call goes on. What must hold belongs behind the gateway.')
}
