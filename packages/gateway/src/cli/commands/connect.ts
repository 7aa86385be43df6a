import { defineCommand } from '../define-command.ts'

export const connectCommand = defineCommand<object, [string]>({
  brief: 'Print the entry that connects an agent with the gateway for good',
  examples: [['connect cursor', 'The entry for its file']],
  flags: {},
  positional: { kind: 'tuple', parameters: [{ brief: 'The agent', placeholder: 'agent', parse: String }] },
  run: () => {},
})
