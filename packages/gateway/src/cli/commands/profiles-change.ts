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
  brief: 'Change a profile, or create one',
  description:
    'Selectors replace the current ones: server, server/tool, a canonical name, globs, !x to exclude.\n' +
    'What is not named stays unchanged. A running gateway applies the change at once.',
  examples: [...SET_EXAMPLES, ['profiles set codex.ci --title "Builds" --budget 8000', 'A title and a budget']],
  flags: {
    all: { kind: 'boolean', optional: true, withNegated: false, brief: 'All tools: remove the selection' },
    none: { kind: 'boolean', optional: true, withNegated: false, brief: 'No tool: an empty selection' },
    title: textFlag('A title for people; empty removes it'),
    budget: {
      kind: 'parsed',
      parse: parseBudget,
      optional: true,
      placeholder: 'tokens',
      brief: 'What the definitions of its tools should not exceed; 0 removes it',
    },
    session: textFlag('The session in which its launches work; empty removes it'),
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
  description: 'Clients with a token for it have no tools from then on. The default of an agent cannot be deleted.',
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
  const update = toProfileUpdate(flags, selectors)
  const view = await readProfilesView(context, flags)
  const { path, profiles } = await view.editor.set(ref, update)
  const report = createProfileReport(requireProfile(profiles, ref), view)
  const warnings = [...unknownAgentWarning(report.agent), ...listProfileWarnings(report, view)]
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
  screen.printMessage(`The profile ${name} was deleted.`)
}

/** Users may have their own agents with any name, so an unknown name may be correct: this is only a warning. */
function unknownAgentWarning(agent: string): readonly string[] {
  const known = ADAPTERS.flatMap(({ id, aliases }) => [id, ...aliases])
  // Any name of two or three letters is similar to `cn` or `amp`.
  const meant = known.includes(agent) || agent.length < 4 ? undefined : findClosest(agent, known)
  return meant === undefined ? [] : [`${agent} is not a known agent. Did you mean "${meant}"?`]
}

function toProfileUpdate(
  { all, none, title, budget, session, clientApproval }: SetFlags,
  selectors: string[],
): ProfileUpdate {
  if ([all, none, selectors.length > 0].filter(Boolean).length > 1)
    throw new SallyportError('USAGE', 'Selectors, --all and --none contradict each other; give only one of them.')
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
  throw new SallyportError('USAGE', `"${typed}" is not a valid budget; expected a whole number of tokens such as 8000.`)
}
