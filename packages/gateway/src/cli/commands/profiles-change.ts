import { findClosest, SallyportError } from '@sallyport/core'
import { ADAPTERS } from '../../agents/agents.ts'
import { type ProfileUpdate, profileKey, requireProfile } from '../../config/config.ts'
import type { CliContext } from '../cli-context.ts'
import { defineCommand } from '../define-command.ts'
import type { GlobalFlags } from '../global-flags.ts'
import { createProfileReport, listProfileWarnings, parseProfileRef, readProfilesView } from '../profiles-view.ts'
import type { Example } from '../terminal/help-text.ts'
import { createScreen } from '../terminal/screen.ts'
import { formatToolCount, printWarnings } from './profiles-list.ts'

interface SetFlags {
  readonly all?: boolean
  readonly none?: boolean
  readonly title?: string
  readonly budget?: number
  readonly session?: string
  readonly clientApproval?: boolean
}

export const SET_EXAMPLES: readonly Example[] = [
  ["profiles set claude.reviewer github/search docs '!docs/delete_*'", 'These tools and no others'],
  ['profiles set codex --none', 'No tool at all'],
  ['profiles set codex --all', 'All tools again'],
]

export const setCommand = defineCommand<SetFlags, string[]>({
  brief: 'Change a profile, or make one',
  description:
    'Selectors replace those that there were: server, server/tool, a canonical name, globs, !x to take away.\n' +
    'What is not named stays as it is. A gateway that runs follows at once.',
  examples: [...SET_EXAMPLES, ['profiles set codex.ci --title "Builds" --budget 8000', 'Words and a budget']],
  flags: {
    all: { kind: 'boolean', optional: true, withNegated: false, brief: 'All tools: take the selection away' },
    none: { kind: 'boolean', optional: true, withNegated: false, brief: 'No tool: an empty selection' },
    title: textFlag('What people should know it by; empty takes it away'),
    budget: {
      kind: 'parsed',
      parse: parseBudget,
      optional: true,
      placeholder: 'tokens',
      brief: 'What the definitions of its tools should not exceed; 0 takes it away',
    },
    session: textFlag('The session in which its launches work; empty takes it away'),
    clientApproval: {
      kind: 'boolean',
      optional: true,
      brief: 'Whether the person in front of its client may approve its calls',
    },
  },
  positional: {
    kind: 'array',
    parameter: { brief: 'The profile, then what it selects', placeholder: 'profile', parse: String },
    minimum: 1,
  },
  run: setProfile,
})

export const deleteCommand = defineCommand<object, [string]>({
  brief: 'Delete a profile',
  description: 'Whoever has a token for it has no tool from then on. The default of an agent cannot be deleted.',
  examples: [['profiles delete codex.scratch', 'By agent and variant']],
  flags: {},
  positional: {
    kind: 'tuple',
    parameters: [{ brief: 'Agent and variant: claude-code.reviewer', placeholder: 'profile', parse: String }],
  },
  run: deleteProfile,
})

async function setProfile(context: CliContext, flags: SetFlags & GlobalFlags, ...words: string[]): Promise<void> {
  const screen = createScreen(context, flags)
  const [typed = '', ...selectors] = words
  const ref = parseProfileRef(typed)
  const wish = toProfileUpdate(flags, selectors)
  const sight = await readProfilesView(context, flags)
  const { path, profiles } = await sight.editor.set(ref, wish)
  const report = createProfileReport(requireProfile(profiles, ref), sight)
  const warnings = [...unknownAgentWarning(report.agent), ...listProfileWarnings(report, sight)]
  if (screen.json) return screen.printJson({ file: path, ...report, warnings })
  screen.printMessage(`${report.name} has these tools: ${formatToolCount(report)} (${path}:${report.line}).`)
  printWarnings(screen, warnings)
}

async function deleteProfile(context: CliContext, flags: GlobalFlags, typed: string): Promise<void> {
  const screen = createScreen(context, flags)
  const ref = parseProfileRef(typed)
  const { editor } = await readProfilesView(context, flags)
  await editor.remove(ref)
  const name = profileKey(ref.agent, ref.variant)
  if (screen.json) return screen.printJson({ deleted: name })
  screen.printMessage(`The profile ${name} is gone.`)
}

/** Agents of one's own can have any name, so that a slip of the finger is only a guess. */
function unknownAgentWarning(agent: string): readonly string[] {
  const known = ADAPTERS.flatMap(({ id, aliases }) => [id, ...aliases])
  // Everything of two or three letters is like `cn` or `amp`.
  const meant = known.includes(agent) || agent.length < 4 ? undefined : findClosest(agent, known)
  return meant === undefined ? [] : [`${agent} is no agent that is known here. Did you mean "${meant}"?`]
}

function toProfileUpdate(
  { all, none, title, budget, session, clientApproval }: SetFlags,
  selectors: string[],
): ProfileUpdate {
  if ([all, none, selectors.length > 0].filter(Boolean).length > 1)
    throw new SallyportError('USAGE', 'Selectors, --all and --none say different things; give one of them.')
  return {
    selectedMcpTools: all ? null : none ? [] : selectors.length > 0 ? selectors : undefined,
    title: title === '' ? null : title,
    tokenBudget: budget === 0 ? null : budget,
    session: session === '' ? null : session,
    clientApproval,
  }
}

function textFlag(brief: string) {
  return { kind: 'parsed', parse: String, optional: true, placeholder: 'text', brief } as const
}

function parseBudget(typed: string): number {
  const tokens = Number(typed)
  if (/^\d{1,12}$/.test(typed) && Number.isSafeInteger(tokens)) return tokens
  throw new SallyportError('USAGE', `"${typed}" is no budget; expected a whole number of tokens such as 8000.`)
}
