import { quoteForShell } from '@sallyport/core'
import type { GlobalFlags } from '../global-flags.ts'

const COMMAND = /`sallyport ([^`]+)`/g

/**
 * Adds the folders that this command was given to the commands that a text suggests: without them, those would be about
 * another gateway.
 */
export function repeatFolders(text: string, { home, state }: GlobalFlags): string {
  const given = [['--home', home] as const, ['--state', state] as const]
  return text.replaceAll(COMMAND, (_whole, command: string) => {
    // What follows `--` is for another program.
    const [own = '', ...others] = command.split(/(?= -- )/)
    const missing = given.flatMap(([flag, folder]) =>
      folder === undefined || own.includes(flag) ? [] : [` ${flag} ${quoteForShell(folder)}`],
    )
    return `\`sallyport ${own}${missing.join('')}${others.join('')}\``
  })
}
