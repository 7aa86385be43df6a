import { defineCommand } from '../../define-command.ts'
import { CHANGE_FLAGS, type ChangeFlags, changeServer, SERVER_NAME } from './change-server.ts'

export const removeCommand = defineCommand<ChangeFlags, [string]>({
  brief: 'Remove a server from config.yaml',
  description: 'Its rules in tools.yaml stay. `servers disable` keeps the entry as well.',
  examples: [
    ['servers remove github', 'By its name'],
    ['servers remove github --dry-run', 'See the change, write nothing'],
  ],
  flags: CHANGE_FLAGS,
  positional: SERVER_NAME,
  run: (context, flags, id) =>
    changeServer(context, { flags, change: { kind: 'remove', id }, done: `${id} was removed from` }),
})

export const enableCommand = defineCommand<ChangeFlags, [string]>({
  brief: 'Start a server that was disabled',
  examples: [['servers enable github', 'By its name']],
  flags: CHANGE_FLAGS,
  positional: SERVER_NAME,
  run: (context, flags, id) =>
    changeServer(context, { flags, change: { kind: 'enable', id, enabled: true }, done: `${id} is enabled in` }),
})

export const disableCommand = defineCommand<ChangeFlags, [string]>({
  brief: 'Stop a server, and keep its entry',
  examples: [['servers disable github', 'By its name']],
  flags: CHANGE_FLAGS,
  positional: SERVER_NAME,
  run: (context, flags, id) =>
    changeServer(context, { flags, change: { kind: 'enable', id, enabled: false }, done: `${id} is disabled in` }),
})
