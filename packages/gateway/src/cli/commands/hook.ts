import { buildRouteMap } from '@stricli/core'
import { choiceOf } from '../choice.ts'
import type { CliContext } from '../cli-context.ts'
import { defineCommand } from '../define-command.ts'
import { type Example, withOverview } from '../help-text.ts'
import type { InstallFlags } from '../hook/install.ts'

const WORDS = ['gemini', 'claude'] as const
type Word = (typeof WORDS)[number]

const TITLES = { gemini: 'Gemini CLI (BeforeTool)', claude: 'Claude Code (PreToolUse)' } as const

const answerCommand = (word: Word) =>
  defineCommand<object>({
    brief: `Answer the hook of ${TITLES[word]}`,
    description:
      'The agent starts this before it calls a tool: its JSON comes by stdin, the answer goes to stdout. An isolated tool is denied with the way to call it instead; everything else continues, and so it does whatever goes wrong.',
    examples: [
      [`hook ${word} < call.json`, 'What the agent would be told of a call'],
      [`hook install --print ${word}`, 'What makes the agent ask'],
    ],
    flags: {},
    run: async (context) => {
      const { answerHook } = await import('../hook/hook.ts')
      await answerHook([word], context)
    },
  })

const INSTALL_EXAMPLES: readonly Example[] = [
  ['hook install --print claude', 'The hook for ~/.claude/settings.json, and the sub-agent mcp-executor'],
  ['hook install --print gemini --json', 'For a program'],
]

const installCommand = defineCommand<InstallFlags, [Word]>({
  brief: 'Print what to paste into an agent’s settings, and its sub-agent',
  description: 'Nothing is written: the files are the agent’s.',
  examples: INSTALL_EXAMPLES,
  flags: { print: { kind: 'boolean', optional: true, withNegated: false, brief: 'Show it; nothing else is possible' } },
  positional: {
    kind: 'tuple',
    parameters: [
      { brief: WORDS.join(', '), placeholder: 'agent', parse: choiceOf(WORDS), proposeCompletions: () => WORDS },
    ],
  },
  run: async (context, flags, word) => {
    const { install } = await import('../hook/install.ts')
    await install(context, flags, word)
  },
})

export const hookCommands = withOverview(
  buildRouteMap<Word | 'install', CliContext>({
    routes: Object.assign(Object.create(null), {
      install: installCommand,
      gemini: answerCommand('gemini'),
      claude: answerCommand('claude'),
    }),
    docs: { brief: 'Keep isolated tools out of an agent’s conversation by its own hooks' },
  }),
  [...INSTALL_EXAMPLES, ['hook claude < call.json', 'What Claude Code would be told of a call']],
)
