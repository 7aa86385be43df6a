import { claudeCode } from './clis/claude-code.ts'
import { geminiCli } from './clis/gemini-cli.ts'
import { type HookedCli, MARK } from './hooked-agent.ts'

/** The agents that have a hook before their tools. */
export const HOOKED_CLIS: readonly HookedCli[] = [
  {
    cli: claudeCode,
    word: 'claude',
    unasked: ['--allowedTools', 'mcp__gw,mcp__notes,Agent'],
    toolName: (server, tool) => `mcp__${server}__${tool}`,
    executorsServer: 'notes',
    delegation: (prompt) => [
      'Agent',
      { subagent_type: 'mcp-executor', description: 'Run it', prompt, run_in_background: false },
    ],
  },
  {
    cli: geminiCli,
    word: 'gemini',
    unasked: ['--yolo'],
    toolName: (server, tool) => `mcp_${server}_${tool}`,
    executorsServer: 'notes-isolated',
    ending: '[[call !complete_task {"result":"done"}]]',
    delegation: (prompt) => ['invoke_agent', { agent_name: 'mcp-executor', prompt }],
  },
]

/** Each line is a turn of the model: a tool that is not isolated, one that is, and what there is instead. */
export function scriptsFor({ toolName, executorsServer, ending = '', delegation }: HookedCli) {
  const call = (name: string, args: string): string => `[[call !${name} ${args}]]`
  const create = call(toolName('notes', 'create_note'), JSON.stringify({ title: 'hooked', text: MARK }))
  const read = call(toolName('notes', 'read_note'), '{"id":"n1"}')
  const [tool, args] = delegation('TASK')
  const task = nested(`${call(toolName(executorsServer, 'read_note'), '{"id":"n1"}')}\n${ending}`)
  return {
    direct: [create, read].join('\n'),
    through: [create, read, call(toolName('gw', 'notes_read_note'), '{"id":"n1"}')].join('\n'),
    delegated: [
      create,
      read,
      call(
        tool,
        JSON.stringify(args).replace('TASK', () => task),
      ),
    ].join('\n'),
  }
}

/** A script within a script, which only the sub-agent is to play. */
const nested = (text: string): string =>
  text.replaceAll('[', '\\u005b').replaceAll('"', '\\u0022').replaceAll('\n', '\\n')
