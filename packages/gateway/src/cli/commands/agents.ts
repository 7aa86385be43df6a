import { ADAPTERS, detectAgents, findAdapter } from '../../agents/agents.ts'
import { defineCommand } from '../define-command.ts'
import { createHostContext } from '../host-context.ts'
import { type AgentFileReport, type AgentReport, createAgentReport, isDetected } from '../import/agent-report.ts'
import { type BuiltInAgent, describeBuiltInAgent, printBuiltInAgent } from '../import/built-in-agent.ts'
import { createScreen, type Screen } from '../terminal/screen.ts'
import type { Column } from '../terminal/table.ts'
import { visibleLine } from '../terminal/terminal-text.ts'

interface AgentsFlags {
  readonly all?: boolean
}

export const agentsCommand = defineCommand<AgentsFlags, [string?]>({
  brief: 'Show the agents on this machine, their own MCP servers, and what a launch can enforce',
  description: 'Their files are read and never written. Their programs are started only to get their version.',
  examples: [
    ['agents', 'Those that have a program or a file here'],
    ['agents claude-code', 'One of them: its files, its servers, how a selection is enforced'],
    ['agents mcp-executor', 'The built-in sub-agent, as your config.yaml configures it'],
    ['agents --all --json', 'All that are known, for a program'],
  ],
  flags: {
    all: { kind: 'boolean', brief: 'Also those that were not found here', optional: true, withNegated: false },
  },
  positional: {
    kind: 'tuple',
    parameters: [{ brief: 'Only this one, in detail', placeholder: 'agent', parse: String, optional: true }],
  },
  run: async (context, flags, name) => {
    const screen = createScreen(context, flags)
    const builtIn = await describeBuiltInAgent(context, flags)
    if (name === builtIn.name) return printBuiltInAgent(screen, builtIn)
    const adapters = name === undefined ? ADAPTERS : [findAdapter(name)]
    const reports = (await detectAgents(adapters, createHostContext(context))).map(createAgentReport)
    const [first] = reports
    if (name !== undefined && first !== undefined) return showAgent(screen, first)
    listAgents(screen, flags.all ? reports : reports.filter(isDetected), builtIn)
  },
})

function listAgents(screen: Screen, agents: readonly AgentReport[], builtIn: BuiltInAgent): void {
  if (screen.json) return screen.printJson({ agents, built_in: [builtIn] })
  if (agents.length === 0)
    screen.printMessage('No agent was found. `sallyport agents --all` shows those that are known.')
  else screen.printTable(COLUMNS, agents)
  screen.print(`Built in: ${builtIn.name} (${builtIn.title}), which runs isolated calls.\n`)
  for (const { title, files } of agents)
    for (const file of files)
      for (const line of listProblems(file)) screen.printMessage(`${screen.style.red('✗')} ${title}: ${line}`)
}

const COLUMNS: readonly Column<AgentReport>[] = [
  { title: 'AGENT', value: ({ id }) => id },
  { title: 'VERSION', value: versionText },
  { title: 'SERVERS', value: serversText },
  { title: 'ENFORCES', value: ({ enforcement }) => enforcement.level },
  { title: 'CONFIG', value: configText, flexible: true },
]

function versionText({ program }: AgentReport): string {
  if (program === null) return 'not in PATH'
  return program.version ?? 'unknown'
}

function serversText({ supportsMcp, files }: AgentReport): string {
  if (!supportsMcp) return 'no MCP'
  const counts = new Map<string, number>()
  for (const { scope, state, servers } of files)
    if (state === 'read') counts.set(scope, (counts.get(scope) ?? 0) + servers.length)
  const broken = files.filter(({ state }) => state === 'broken').length
  const parts = [...counts].filter(([, count]) => count > 0).map(([scope, count]) => `${count} ${scope}`)
  return [...parts, ...(broken > 0 ? [`${broken} broken`] : [])].join(', ') || '0'
}

/** The files that exist; if there are none, the first one that is searched for. */
function configText({ files }: AgentReport): string | undefined {
  const existing = files.filter(({ state }) => state !== 'missing').map(({ path }) => path)
  return existing.length > 0 ? [...new Set(existing)].join(', ') : files[0] && `${files[0].path} (missing)`
}

function listProblems({ path, problems, error }: AgentFileReport): readonly string[] {
  const errors = error === undefined ? [] : [[error.message, error.hint].filter(Boolean).join(' ')]
  return [...errors, ...problems.map((problem) => `${path}: ${problem}`)].map(visibleLine)
}

function showAgent(screen: Screen, agent: AgentReport): void {
  if (screen.json) return screen.printJson(agent)
  const { id, title, aliases, program, files, enforcement } = agent
  const facts: readonly (readonly [string, string | undefined])[] = [
    ['agent', `${title} (${[id, ...aliases].join(', ')})`],
    ['program', program === null ? 'not in PATH' : visibleLine(program.path)],
    ['version', program === null ? undefined : visibleLine(program.version ?? program.problem ?? 'unknown')],
    ...files.map((file) => [file.scope, fileText(file)] as const),
    ['single tools', describeToolFilter(agent)],
    ['enforces', `${enforcement.level}: ${enforcement.text}`],
  ]
  screen.printFacts(facts.map(([name, value]) => ({ name, value })))
}

function fileText(file: AgentFileReport): string {
  const head = visibleLine(file.path)
  const lines = listProblems(file)
  if (file.state === 'missing') return `${head} (missing)`
  if (file.state === 'broken') return [head, ...lines].join('\n')
  const names = file.servers.map((name) => visibleLine(name)).join(', ')
  return [head, file.servers.length === 0 ? 'no servers' : names, ...lines].join('\n')
}

function describeToolFilter({ supportsMcp, toolFilter }: AgentReport): string | undefined {
  if (!supportsMcp) return undefined
  const keys = [toolFilter?.include, toolFilter?.exclude].filter((key) => key !== undefined)
  return keys.length > 0 ? `by its own ${keys.join(' and ')}` : 'through the gateway'
}
