import { defineCommand } from '../define-command.ts'
import { agentsFlag } from '../import/agents-flag.ts'
import type { ImportDraft } from '../import/import-draft.ts'
import { type ImportFlags, importServers } from '../import/import-servers.ts'
import { createImportReport } from '../import/import-text.ts'
import { createScreen } from '../terminal/screen.ts'

export const importCommand = defineCommand<ImportFlags>({
  brief: 'Add the MCP servers of your agents to config.yaml',
  description:
    'Servers that several agents have under several names become one. Secrets become variables. Files of agents are\n' +
    'read and never written; config.yaml is changed only by what is added.',
  examples: [
    ['import', 'See what would be added, then be asked'],
    ['import --from claude --from cursor', 'From these agents only'],
    ['import --dry-run', 'See it, and change nothing'],
    ['import --yes --json', 'Do it without being asked, in a script'],
  ],
  flags: {
    from: agentsFlag('Only the servers of this agent; may be repeated'),
    dryRun: { kind: 'boolean', optional: true, withNegated: false, brief: 'Only show what would be done' },
    yes: { kind: 'boolean', optional: true, withNegated: false, brief: 'Do not ask' },
    project: {
      kind: 'boolean',
      optional: true,
      withNegated: false,
      brief: 'Also servers from files of this folder, which others may have written',
    },
    plainSecrets: {
      kind: 'boolean',
      optional: true,
      withNegated: false,
      brief: 'Write secrets into config.yaml as they are, instead of variables',
    },
  },
  run: async (context, flags) => {
    const screen = createScreen(context, flags)
    const { found, draft, isWritten } = await importServers(context, flags, screen)
    if (screen.json) return screen.printJson({ ...createImportReport(draft, found.broken), written: isWritten })
    screen.printMessage(formatImportOutcome(draft, isWritten ? 'written' : 'shown'))
  },
})

function formatImportOutcome({ plan: { added }, path }: ImportDraft, result: 'written' | 'shown'): string {
  if (added.length === 0) return 'There is nothing to import.'
  const servers = added.length === 1 ? 'One server' : `${added.length} servers`
  if (result === 'shown') return `${servers} could be added to ${path}; it is unchanged.`
  return `${servers} added to ${path}. \`sallyport servers\` shows their state.`
}
