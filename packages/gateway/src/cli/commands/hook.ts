import { buildRouteMap } from '@stricli/core'
import type { CliContext } from '../cli-context.ts'
import { defineCommand } from '../define-command.ts'
import type { InstallFlags } from '../hook/print-hook-install.ts'
import { createChoiceParser } from '../terminal/choice-parser.ts'
import { type Example, withOverview } from '../terminal/help-text.ts'

const AGENT_NAMES = ['gemini', 'claude'] as const
type AgentName = (typeof AGENT_NAMES)[number]
type GovernFlags = Pick<InstallFlags, 'govern' | 'strict'>

const TITLES = { gemini: 'Gemini CLI (BeforeTool)', claude: 'Claude Code (PreToolUse)' } as const

const GOVERN_FLAGS = {
  govern: {
    kind: 'boolean',
    optional: true,
    withNegated: false,
    brief: 'Ask the running gateway about the tools that the agent has built in',
  },
  strict: {
    kind: 'boolean',
    optional: true,
    withNegated: false,
    brief: 'With --govern: deny these if no gateway answers',
  },
} as const

const createAnswerCommand = (agentName: AgentName) =>
  defineCommand<GovernFlags>({
    brief: `Answer the hook of ${TITLES[agentName]}`,
    description:
      'The agent starts this before it calls a tool: its JSON comes by stdin, the answer goes to stdout. An isolated tool is denied with the way to call it instead; everything else continues, also if the hook fails.',
    examples: [
      [`hook ${agentName} < call.json`, 'What the agent would be told about a call'],
      [`hook install --print ${agentName}`, 'What makes the agent ask'],
    ],
    flags: GOVERN_FLAGS,
    // `main` answers hooks without loading this command: it is here for the help, and for programs.
    run: async (context, { govern, strict }) => {
      const { answerHook } = await import('../hook/hook.ts')
      await answerHook([agentName, ...(govern ? ['--govern'] : []), ...(strict ? ['--strict'] : [])], context)
    },
  })

const INSTALL_EXAMPLES: readonly Example[] = [
  ['hook install --print claude', 'The hook for ~/.claude/settings.json, and the sub-agent mcp-executor'],
  ['hook install --print claude --govern', 'With rules of tools.yaml for Bash, Write and the like'],
  ['hook install --print gemini --json', 'For a program'],
]

const installCommand = defineCommand<InstallFlags, [AgentName]>({
  brief: 'Print what to paste into an agent’s settings, and its sub-agent',
  description: 'Nothing is written: the files are the agent’s.',
  examples: INSTALL_EXAMPLES,
  flags: {
    print: { kind: 'boolean', optional: true, withNegated: false, brief: 'Show it; nothing else is possible' },
    ...GOVERN_FLAGS,
  },
  positional: {
    kind: 'tuple',
    parameters: [
      {
        brief: AGENT_NAMES.join(', '),
        placeholder: 'agent',
        parse: createChoiceParser(AGENT_NAMES),
        proposeCompletions: () => AGENT_NAMES,
      },
    ],
  },
  run: async (context, flags, agentName) => {
    const { printHookInstall } = await import('../hook/print-hook-install.ts')
    await printHookInstall(context, flags, agentName)
  },
})

export const hookCommands = withOverview(
  buildRouteMap<AgentName | 'install', CliContext>({
    routes: Object.assign(Object.create(null), {
      install: installCommand,
      gemini: createAnswerCommand('gemini'),
      claude: createAnswerCommand('claude'),
    }),
    docs: { brief: 'Keep isolated tools out of an agent’s conversation by its own hooks' },
  }),
  [...INSTALL_EXAMPLES, ['hook claude < call.json', 'What Claude Code would be told about a call']],
)
