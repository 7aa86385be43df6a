import { quoteForShell } from '../../packages/core/src/text/quote-for-shell.ts'

/**
 * A command in a terminal of its own, without a package that would have to be compiled. In place of the shell: some
 * shells stay, and end by a Ctrl-C that the command outlives.
 */
export const inTerminal = (command: readonly string[]): readonly string[] => [
  'script',
  '-qec',
  `exec ${command.map(quoteForShell).join(' ')}`,
  '/dev/null',
]
