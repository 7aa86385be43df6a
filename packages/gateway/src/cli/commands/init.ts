import { profileKey } from '../../config/config.ts'
import { defineCommand } from '../define-command.ts'
import { agentsFlag } from '../import/agents-flag.ts'
import { type FirstProfile, formatRunCommand, pickProfile } from '../import/first-profile.ts'
import { type ImportOutcome, importServers } from '../import/import-servers.ts'
import { createImportReport } from '../import/import-text.ts'
import { createScreen, type Screen } from '../terminal/screen.ts'

interface InitFlags {
  readonly from?: readonly string[]
  readonly yes?: boolean
  readonly profile?: string
}

export const initCommand = defineCommand<InitFlags>({
  brief: 'The first minute: find your agents, import their servers, and show how to run one',
  description: 'It can be run again at any time: what exists already stays unchanged.',
  examples: [
    ['init', 'Search, then ask about each step'],
    ['init --from claude --yes', 'Import the servers of one agent without asking'],
    ['init --yes --profile codex.reviewer', 'And create a profile for another'],
  ],
  flags: {
    from: agentsFlag('Only look at this agent; may be repeated'),
    yes: { kind: 'boolean', optional: true, withNegated: false, brief: 'Do not ask' },
    profile: {
      kind: 'parsed',
      parse: String,
      optional: true,
      placeholder: 'agent.variant',
      brief: 'The profile to run; it is created if it does not exist',
    },
  },
  run: async (context, flags) => {
    const screen = createScreen(context, flags)
    const outcome = await importServers(context, flags, screen)
    const first = await pickProfile(context, flags, { outcome, screen })
    if (screen.json) return screen.printJson(createInitReport(outcome, first))
    printOutcome(screen, outcome, first)
  },
})

function createInitReport(outcome: ImportOutcome, first: FirstProfile | undefined) {
  const { found, draft, isWritten } = outcome
  return {
    agents: found.agents,
    import: { ...createImportReport(draft, found.broken), written: isWritten },
    ...(first && { profile: profileKey(first.ref.agent, first.ref.variant), run: formatRunCommand(first) }),
  }
}

function printOutcome(
  screen: Screen,
  { found, draft, isWritten }: ImportOutcome,
  first: FirstProfile | undefined,
): void {
  const { added } = draft.plan
  if (found.agents.length === 0)
    screen.printMessage('No agent was found. `sallyport agents --all` shows those that are known.')
  if (isWritten) screen.printMessage(`${added.length} of the servers of your agents are in ${draft.path} now.`)
  else if (draft.before === undefined)
    screen.printMessage(`There is no ${draft.path} yet: write servers into it, or run \`sallyport init\` again.`)
  if (first === undefined) return screen.printMessage('To try it without any of this: sallyport serve --demo')
  screen.printMessage('Run it:')
  screen.print(`${formatRunCommand(first)}\n`)
}
