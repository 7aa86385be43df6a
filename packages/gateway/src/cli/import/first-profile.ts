import { findClosest } from '@sallyport/core'
import { type AgentAdapter, findAdapter, findOverlay, findProgram } from '../../agents/agents.ts'
import { type ProfileRef, ProfilesEditor, profileKey } from '../../config/config.ts'
import type { CliContext } from '../cli-context.ts'
import { createHostContext } from '../host-context.ts'
import { parseProfileRef } from '../profiles-view.ts'
import { askTerminal, isTerminal } from '../terminal/ask-terminal.ts'
import type { Screen } from '../terminal/screen.ts'
import type { ImportOutcome } from './import-servers.ts'

export interface ProfileChoice {
  readonly yes?: boolean
  readonly profile?: string
}

export interface FirstProfile {
  readonly agent: AgentAdapter
  readonly ref: ProfileRef
}

/** The agent to run, and its profile. `undefined` if no agent was found. */
export async function pickProfile(
  context: CliContext,
  choice: ProfileChoice,
  { outcome, screen }: { readonly outcome: ImportOutcome; readonly screen: Screen },
): Promise<FirstProfile | undefined> {
  const ref = choice.profile === undefined ? undefined : parseProfileRef(choice.profile)
  const asks = !choice.yes && isTerminal(context)
  const agent = ref ? findAdapter(ref.agent) : await pickAgent(context, outcome.found.agents, asks ? 'ask' : 'first')
  if (agent === undefined) return undefined
  const picked = { agent, ref: { agent: agent.id, variant: ref?.variant ?? 'default' } }
  const editor = new ProfilesEditor({ home: outcome.draft.home, state: outcome.draft.state })
  const known = (await editor.read()).profiles.get(profileKey(picked.ref.agent, picked.ref.variant))
  // An existing selection is not asked for again, and never overwritten.
  if (known?.selectedMcpTools !== undefined) return picked
  const selectors = asks ? await pickServers(context, listSelectableServers(outcome), screen) : undefined
  const isNamed = ref !== undefined && known === undefined
  if (selectors !== undefined || isNamed)
    await editor.set(picked.ref, { ...(selectors && { selectedMcpTools: selectors }) })
  return picked
}

/** The command that starts the agent, or connects it permanently if it cannot be configured for one run. */
export function formatRunCommand({ agent, ref }: FirstProfile): string {
  const variant = ref.variant.toLowerCase() === 'default' ? '' : ` --profile ${ref.variant.toLowerCase()}`
  return `sallyport ${findOverlay(agent.id) ? 'run' : 'connect'} ${agent.id}${variant}`
}

async function pickAgent(
  context: CliContext,
  found: readonly string[],
  how: 'ask' | 'first',
): Promise<AgentAdapter | undefined> {
  const host = createHostContext(context)
  const canRun = ({ id, program }: AgentAdapter): boolean =>
    findOverlay(id) !== undefined && program !== undefined && findProgram(program, host) !== undefined
  const agents = found.map(findAdapter)
  const sorted = [...agents.filter(canRun), ...agents.filter((agent) => !canRun(agent))]
  if (how === 'first' || sorted.length < 2) return sorted[0]
  const list = sorted.map(({ id, title }, index) => `  ${index + 1}  ${title} (${id})\n`).join('')
  const answer = await askTerminal(`\nWhich agent do you want to run?\n${list}Number or name [1]: `, context)
  if (!answer) return sorted[0]
  return sorted[Number(answer) - 1] ?? findAdapter(answer)
}

function listSelectableServers({ draft, isWritten }: ImportOutcome): readonly string[] {
  return [...draft.existing, ...(isWritten ? draft.plan.added.map(({ id }) => id) : [])]
}

/** The servers that the profile selects; `undefined` for all. */
async function pickServers(
  context: CliContext,
  servers: readonly string[],
  screen: Screen,
): Promise<readonly string[] | undefined> {
  if (servers.length === 0) return undefined
  screen.printMessage(`\nServers: ${servers.join(', ')}`)
  for (;;) {
    const answer = await askTerminal('Which may it use? Names separated by spaces, or Enter for all: ', context)
    const names = answer?.split(/[\s,]+/).filter(Boolean) ?? []
    if (names.length === 0) return undefined
    const unknown = names.find((word) => !servers.includes(word))
    if (unknown === undefined) return names
    const meant = findClosest(unknown, servers)
    screen.printMessage(`There is no server "${unknown}".${meant === undefined ? '' : ` Did you mean "${meant}"?`}`)
  }
}
