import { defineCommand } from '../define-command.ts'
import type { RunFlags } from '../launch/run.ts'

export const runCommand = defineCommand<RunFlags, readonly string[]>({
  brief: 'Start an agent with the gateway as its only MCP server',
  description:
    'The agent’s own files stay as they are: for this one run it is started with its own options so that it uses the gateway and nothing else. Terminal, input, exit code and signals are the agent’s own. Its arguments follow after --.',
  examples: [
    ['run claude', 'Claude Code, with the tools of its default profile'],
    ['run codex --profile reviewer -- exec "review the diff"', 'A profile, and arguments for the agent'],
    ['run gemini --tools github/search --tools docs', 'Fewer tools than the profile has, for this run'],
    ['run opencode --native', 'Its own servers, as far as the profile selects them'],
    ['run claude --print', 'See the command, the environment and the files instead'],
  ],
  flags: {
    profile: { kind: 'parsed', parse: String, optional: true, brief: 'The variant of the agent (default)' },
    tools: {
      kind: 'parsed',
      parse: String,
      optional: true,
      variadic: ',',
      placeholder: 'selectors',
      brief: 'Only these of the profile’s tools: server, server/tool, globs, !x excludes',
    },
    native: {
      kind: 'boolean',
      optional: true,
      withNegated: false,
      brief: 'Give it its own servers, filtered by the profile, and not the gateway',
    },
    allowOtherServers: {
      kind: 'boolean',
      optional: true,
      withNegated: false,
      brief: 'Start it even if it will have servers that the gateway does not govern; they are recorded',
    },
    print: {
      kind: 'boolean',
      optional: true,
      withNegated: false,
      brief: 'Show what would be started, and start nothing',
    },
  },
  positional: {
    kind: 'array',
    minimum: 1,
    parameter: { brief: 'The agent, then after -- its own arguments', placeholder: 'agent', parse: String },
  },
  run: async (context, flags, ...words) => {
    const { run } = await import('../launch/run.ts')
    await run(context, flags, words)
  },
})
