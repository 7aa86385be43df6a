import { type Application, proposeCompletions } from '@stricli/core'
import type { CliContext } from './cli-context.ts'

/** The word with which the completion scripts ask; it is no command for people. */
export const COMPLETE = 'complete'

/** What could stand next on a command line, one proposal and its meaning per line. The last word is the one being typed. */
export async function completionProposals(
  application: Application<CliContext>,
  words: readonly string[],
  context: CliContext,
): Promise<string> {
  // Bash hands over `--flag=value` as three words.
  const typed = (words[0] === '--' ? words.slice(1) : words).filter((word) => word !== '=')
  const found = await proposeCompletions(application, typed.length === 0 ? [''] : typed, context)
  return found
    .filter(({ completion }) => completion !== '--')
    .map(({ completion, brief }) => `${completion}\t${brief}\n`)
    .join('')
}
