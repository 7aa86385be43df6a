import { SallyportError } from '@sallyport/core'
import { type AgentOverlay, CALL_PATIENCE_S } from '../agent-overlay.ts'
import { createOverlay } from '../overlay-parts.ts'

/** The commands of goose that start servers and can be told which. */
const COMMANDS = new Set(['run', 'session', 's'])

/** `--no-profile` leaves the user's extensions out; ours is added by a flag, which only some commands have. */
export const gooseOverlay: AgentOverlay = {
  // A recipe brings extensions of its own.
  reserved: [
    '--with-extension',
    '--with-streamable-http-extension',
    '--with-remote-extension',
    '--no-profile',
    '--recipe',
    '--sub-recipe',
  ],
  stays: [],
  carriesNone: 'On a command line its variables would be seen by every user of this machine.',
  entry: ({ command, args }) => ({ type: 'stdio', cmd: command, args, timeout: CALL_PATIENCE_S, enabled: true }),
  overlay: ({ servers, args }) => {
    const [command = 'session', ...rest] = args
    if (!COMMANDS.has(command))
      throw new SallyportError('USAGE', `goose ${command} cannot be told which servers to start.`, {
        hint: 'Use `sallyport run goose -- run …` or `sallyport run goose -- session …`.',
      })
    const extensions = servers.flatMap(({ name, entry }) => [
      '--with-extension',
      `${name}:${[entry.cmd, ...(entry.args as readonly unknown[])].map((word) => quoted(String(word))).join(' ')}`,
    ])
    return createOverlay({ args: [command, '--no-profile', ...extensions, ...rest] })
  },
}

/** goose splits the text as a shell does. */
const quoted = (word: string): string => (/^[\w@%+:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)
