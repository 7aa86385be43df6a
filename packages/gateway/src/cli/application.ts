import {
  type Application,
  type ApplicationText,
  buildApplication,
  buildRouteMap,
  type Command,
  type RouteMap,
} from '@stricli/core'
import type { CliContext } from './cli-context.ts'
import { type Example, withOverview } from './terminal/help-text.ts'
import { exitCodeOf } from './terminal/print-error.ts'

type Target = Command<CliContext> | RouteMap<CliContext>

/** Each command is loaded only when it is used: an agent waits for `serve --stdio` to start. */
const LOADERS: Readonly<Record<string, () => Promise<Target>>> = {
  serve: async () => (await import('./serve/serve-command.ts')).serveCommand,
  run: async () => (await import('./commands/run.ts')).runCommand,
  'run-sandboxed': async () => (await import('./commands/run-sandboxed.ts')).runSandboxedCommand,
  sandbox: async () => (await import('./commands/sandbox.ts')).sandboxCommands,
  connect: async () => (await import('./commands/connect.ts')).connectCommand,
  hook: async () => (await import('./commands/hook.ts')).hookCommands,
  servers: async () => (await import('./commands/servers/servers.ts')).serversCommands,
  tools: async () => (await import('./commands/tools/tools.ts')).toolsCommands,
  init: async () => (await import('./commands/init.ts')).initCommand,
  import: async () => (await import('./commands/import.ts')).importCommand,
  agents: async () => (await import('./commands/agents.ts')).agentsCommand,
  profiles: async () => (await import('./commands/profiles.ts')).profilesCommands,
  call: async () => (await import('./commands/call.ts')).callCommand,
  audit: async () => (await import('./commands/audit.ts')).auditCommands,
  explain: async () => (await import('./commands/explain.ts')).explainCommand,
  replay: async () => (await import('./commands/replay.ts')).replayCommand,
  approvals: async () => (await import('./commands/approvals.ts')).approvalsCommands,
  sessions: async () => (await import('./commands/sessions.ts')).sessionCommands,
  mode: async () => (await import('./commands/mode.ts')).modeCommand,
  panic: async () => (await import('./commands/panic.ts')).panicCommand,
  token: async () => (await import('./commands/token.ts')).tokenCommands,
  trust: async () => (await import('./commands/trust.ts')).trustCommand,
  doctor: async () => (await import('./commands/doctor.ts')).doctorCommand,
  new: async () => (await import('./commands/new.ts')).newCommands,
  ui: async () => (await import('./commands/ui.ts')).uiCommand,
  completion: async () => (await import('./commands/completion.ts')).completionCommand,
}

/** In the order of the help. */
export const COMMAND_NAMES: readonly string[] = Object.keys(LOADERS)

const EXAMPLES: readonly Example[] = [
  ['serve', 'Start the gateway with its web UI on 127.0.0.1:4747'],
  ['run claude -- -p "what changed?"', 'Start an agent with the gateway as its only MCP server'],
  ['serve --stdio --agent claude-code', 'Speak MCP on stdin and stdout: the line for an agent’s configuration'],
  ['tools', 'List the tools of all servers'],
  ['call github/list_issues --args \'{"repo":"me/it"}\'', 'Call one of them, under the same rules as an agent'],
  ['audit --since 1h --verdict deny', 'See what was refused in the last hour'],
  ['doctor', 'Find out what is wrong, and how to fix it'],
]

/** The application with all commands, or with just the one that was asked for. */
export async function createApplication(text: ApplicationText, only?: string): Promise<Application<CliContext>> {
  const names = only === undefined ? COMMAND_NAMES : [only]
  const loaded = await Promise.all(names.map(async (name) => [name, await LOADERS[name]?.()] as const))
  const root = buildRouteMap<string, CliContext>({
    // Without a prototype, so that `sallyport constructor` is an unknown command and not a property of all objects.
    routes: Object.assign(Object.create(null), Object.fromEntries(loaded)),
    docs: {
      brief: 'The governing gateway between AI agents and MCP tools',
      fullDescription:
        'The governing gateway between AI agents and MCP tools.\n' +
        'Every command takes --home <folder>, --state <folder> and --json.',
    },
  })
  return buildApplication(withOverview(root, EXAMPLES), {
    name: 'sallyport',
    versionInfo: { getCurrentVersion: async () => (await import('../version.ts')).VERSION },
    scanner: { caseStyle: 'allow-kebab-for-camel', allowArgumentEscapeSequence: true },
    documentation: { onlyRequiredInUsageLine: true, disableAnsiColor: true },
    localization: { text },
    determineExitCode: exitCodeOf,
  })
}

/** The subcommands of a command group; empty for any other command. */
export async function listSubcommands(name: string): Promise<readonly string[]> {
  const target = await LOADERS[name]?.()
  return target && 'getAllEntries' in target ? target.getAllEntries().map((entry) => entry.name.original) : []
}

export function isCommand(word: string | undefined): word is string {
  return word !== undefined && Object.hasOwn(LOADERS, word)
}
