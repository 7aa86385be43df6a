import { defineCommand } from '../define-command.ts'
import type { ConnectFlags } from '../launch/connect.ts'

export const connectCommand = defineCommand<ConnectFlags, [string]>({
  brief: 'Print the entry that connects an agent with the gateway permanently',
  description:
    'For agents whose servers cannot be chosen for a single run, such as Cursor, VS Code or Claude Desktop. You paste the entry into the agent’s own file: Sallyport never writes there. A token for the agent’s profile is created and shown once, for a variable that only this agent has; if the agent cannot read variables, the token is part of the entry.',
  examples: [
    ['connect cursor', 'The entry for ~/.cursor/mcp.json, and how to set its token'],
    ['connect vscode --profile reviewer', 'With the tools of one profile'],
    ['connect zed --json', 'For a program'],
  ],
  flags: { profile: { kind: 'parsed', parse: String, optional: true, brief: 'The variant of the agent (default)' } },
  positional: { kind: 'tuple', parameters: [{ brief: 'The agent', placeholder: 'agent', parse: String }] },
  run: async (context, flags, agent) => {
    const { connect } = await import('../launch/connect.ts')
    await connect(context, flags, agent)
  },
})
