import { setTimeout as delay } from 'node:timers/promises'
import { SallyportError } from '@sallyport/core'
import type { CliContext } from '../../cli-context.ts'
import { defineCommand } from '../../define-command.ts'
import { findHome } from '../../find-home.ts'
import type { GatewayClient, ServerView } from '../../gateway/gateway-client.ts'
import { findRunningGateway } from '../../gateway/with-gateway.ts'
import type { GlobalFlags } from '../../global-flags.ts'
import { createScreen } from '../../terminal/screen.ts'
import { SERVER_NAME, waitForServer } from './change-server.ts'
import { formatServerLine } from './server-line.ts'

export const restartCommand = defineCommand<object, [string]>({
  brief: 'Close a server and start it again',
  description: 'Its calls in flight end with an error that says so.',
  examples: [['servers restart github', 'By its name']],
  flags: {},
  positional: SERVER_NAME,
  run: async (context, flags, id) => {
    const screen = createScreen(context, flags)
    const gateway = await requireGateway(context, flags)
    await gateway.restartServer(id)
    const server = await waitForServer(gateway, { id, wantsRunning: true }, context.signal)
    if (screen.json) return screen.printJson(server)
    if (server) screen.printMessage(formatServerLine(server))
  },
})

interface LogsFlags {
  readonly follow?: boolean
}

const POLL_MS = 300

export const logsCommand = defineCommand<LogsFlags, [string]>({
  brief: 'Show what a server writes to stderr, and what happened to it',
  description: 'The gateway keeps the last 100 lines of each server, without secrets.',
  examples: [
    ['servers logs github', 'The last lines'],
    ['servers logs github --follow', 'And those that follow, until Ctrl-C'],
  ],
  flags: {
    follow: { kind: 'boolean', optional: true, withNegated: false, brief: 'Wait for further lines' },
  },
  aliases: { f: 'follow' },
  positional: SERVER_NAME,
  run: async (context, flags, id) => {
    const screen = createScreen(context, flags)
    const gateway = await requireGateway(context, flags)
    const print = (lines: readonly string[]): void => {
      for (const line of lines)
        screen.json ? screen.printJson({ server: id, line }) : screen.printUntrusted(`${line}\n`)
    }
    let server = await gateway.server(id, context.signal)
    print(server.messages)
    while (flags.follow) {
      await delay(POLL_MS, undefined, { signal: context.signal }).catch(() => context.signal.throwIfAborted())
      const next = await gateway.server(id, context.signal)
      print(findNewLines(server, next))
      server = next
    }
  },
})

/** The lines are counted, so that equal ones are not taken for each other. An entry that was changed starts anew. */
function findNewLines(before: ServerView, { messages, messageCount }: ServerView): readonly string[] {
  const count = messageCount < before.messageCount ? messageCount : messageCount - before.messageCount
  return count === 0 ? [] : messages.slice(-count)
}

async function requireGateway(context: CliContext, flags: GlobalFlags): Promise<GatewayClient> {
  const { home, state } = await findHome(context, flags)
  const gateway = await findRunningGateway(state, home.path)
  if (gateway !== undefined) return gateway
  throw new SallyportError('GATEWAY_UNREACHABLE', `No gateway runs on the state ${state}.`, {
    hint: 'Start it with `sallyport serve`, or name its state with --state.',
  })
}
