import { buildRouteMap } from '@stricli/core'
import type { CliContext } from '../../cli-context.ts'
import { withOverview } from '../../terminal/help-text.ts'
import { addCommand } from './servers-add.ts'
import { disableCommand, enableCommand, removeCommand } from './servers-change.ts'
import { LIST_EXAMPLES, listCommand } from './servers-list.ts'
import { logsCommand, restartCommand } from './servers-run.ts'

export const serversCommands = withOverview(
  buildRouteMap<'list' | 'add' | 'remove' | 'enable' | 'disable' | 'restart' | 'logs', CliContext>({
    routes: Object.assign(Object.create(null), {
      list: listCommand,
      add: addCommand,
      remove: removeCommand,
      enable: enableCommand,
      disable: disableCommand,
      restart: restartCommand,
      logs: logsCommand,
    }),
    defaultCommand: 'list',
    docs: { brief: 'Show, add, change and restart the servers behind the gateway' },
  }),
  [
    ...LIST_EXAMPLES,
    ['servers add memory -- npx -y @modelcontextprotocol/server-memory', 'Add a program to config.yaml'],
    ['servers add docs --url https://docs.example.com/mcp', 'Add a server that is reached over HTTP'],
    ['servers disable github', 'Stop one, and keep its entry'],
    ['servers restart github', 'Close one, and start it again'],
    ['servers logs github --follow', 'What it writes to stderr, as it happens'],
  ],
)
