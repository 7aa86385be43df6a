import { shellWord } from '../packages/gateway/src/cli/shell-word.ts'

/** A command in a terminal of its own, without a package that would have to be compiled. */
export const inTerminal = (command: readonly string[]): readonly string[] => [
  'script',
  '-qec',
  command.map(shellWord).join(' '),
  '/dev/null',
]
