import { SallyportError } from '@sallyport/core'
import { ADAPTERS, findAdapter } from '../../agents/agents.ts'
import type { CliContext } from '../cli-context.ts'
import type { GlobalFlags } from '../global-flags.ts'
import { createHostContext } from '../host-context.ts'
import { askTerminal, isTerminal, isYes } from '../terminal/ask-terminal.ts'
import type { Screen } from '../terminal/screen.ts'
import { type FoundServers, findServers } from './found-servers.ts'
import { draftImport, type ImportDraft, writeImport } from './import-draft.ts'
import { printDiff, printImportPlan } from './import-text.ts'

/** The flags of `import`. */
export interface ImportFlags {
  readonly from?: readonly string[]
  readonly dryRun?: boolean
  readonly yes?: boolean
  readonly plainSecrets?: boolean
  readonly project?: boolean
}

export interface ImportOutcome {
  readonly found: FoundServers
  readonly draft: ImportDraft
  readonly isWritten: boolean
}

/** Reads the agents' files, shows what would be added, asks, and adds it. */
export async function importServers(
  context: CliContext,
  flags: ImportFlags & GlobalFlags,
  screen: Screen,
): Promise<ImportOutcome> {
  const wanted = flags.from === undefined ? ADAPTERS : flags.from.map(findAdapter)
  const found = await findServers(wanted, createHostContext(context))
  const draft = await draftImport(context, flags, {
    found,
    secrets: flags.plainSecrets ? 'keep' : 'hide',
    projects: flags.project ? 'take' : 'leave',
  })
  const { added } = draft.plan
  if (!screen.json) {
    if (added.length > 0) printDiff(screen, draft)
    printImportPlan(screen, draft, found.broken)
  }
  const isWanted = added.length > 0 && !flags.dryRun && (await confirmImport(context, flags, draft))
  if (isWanted) await writeImport(draft)
  return { found, draft, isWritten: isWanted }
}

async function confirmImport(context: CliContext, flags: ImportFlags, { path }: ImportDraft): Promise<boolean> {
  if (flags.yes) return true
  if (isTerminal(context)) return isYes(await askTerminal(`Write this to ${path}? [y/N] `, context))
  throw new SallyportError('USAGE', `${path} was not changed: there is no terminal to ask on.`, {
    hint: 'See what would be added with `sallyport import --dry-run`, then confirm with --yes.',
  })
}
