import { defineCommand } from '../../define-command.ts'
import type { GatewayClient, ServerView, ToolsFileView } from '../../gateway/gateway-client.ts'
import { findUnavailableServers, formatUnavailable } from '../../gateway/unavailable-servers.ts'
import { waitForServers } from '../../gateway/wait-for-servers.ts'
import { withReadOnlyGateway } from '../../gateway/with-gateway.ts'
import { createScreen, type Screen } from '../../terminal/screen.ts'
import { visibleLine } from '../../terminal/terminal-text.ts'

const EXIT_DIFFERENCES = 6
const EXIT_UNAVAILABLE = 5

export const checkCommand = defineCommand<object>({
  brief: 'Check that every tool is reviewed and is what was reviewed',
  description:
    'Exits with 6 when tools.yaml has a mistake, when a tool has no entry in it, when a definition is not the one that\n' +
    'was reviewed, or when a pattern fits no tool and leaves open what it was to restrict;\n' +
    'else with 5 when a server cannot be asked. Where no gateway runs, the servers are started for it, and tools.yaml is\n' +
    'left as it is.',
  examples: [
    ['tools check', 'Each problem, and what to do about it'],
    ['tools check --json', 'The same for a program'],
  ],
  flags: {},
  run: async (context, flags) => {
    const screen = createScreen(context, flags)
    const { file, servers } = await withReadOnlyGateway(context, flags, (client) =>
      readToolsStatus(client, context.signal),
    )
    const unchecked = findUnavailableServers(servers)
    const isRight = file.problems.every(({ level }) => level !== 'wrong')
    const ok = isRight && unchecked.length === 0
    if (screen.json)
      screen.printJson({ ok, ...file, leftOut: listLeftOut(servers), unchecked: unchecked.map(({ id }) => id) })
    else show(screen, { file, servers, unchecked })
    // What nobody could look at has not passed.
    if (!ok) context.process.exitCode = isRight ? EXIT_UNAVAILABLE : EXIT_DIFFERENCES
  },
})

async function readToolsStatus(client: GatewayClient, signal: AbortSignal) {
  const servers = await waitForServers(client, signal)
  return { servers, file: await client.toolsFile(signal) }
}

interface ToolsCheckResult {
  readonly file: ToolsFileView
  readonly servers: readonly ServerView[]
  readonly unchecked: readonly ServerView[]
}

function show(screen: Screen, { file: { path, entries, problems }, servers, unchecked }: ToolsCheckResult): void {
  const { style } = screen
  const marks = { wrong: style.red('✗'), warning: style.yellow('!') }
  for (const [at, { level, problem, fix }] of problems.entries()) {
    screen.print(`${marks[level]} ${visibleLine(problem)}\n`)
    if (problems[at + 1]?.fix !== fix) screen.print(`  → ${visibleLine(fix)}\n`)
  }
  const leftOut = listLeftOut(servers)
  for (const { server, name, reason } of leftOut)
    screen.print(`${marks.warning} ${visibleLine(`"${name}" of server ${server} is left out: ${reason}`)}\n`)
  if (leftOut.length > 0) screen.print('  → Report it to the author of the server: nobody can use it.\n')
  for (const server of unchecked) screen.printMessage(formatUnavailable(server, 'Its tools could not be checked.'))
  if (problems.length === 0 && unchecked.length === 0)
    screen.printMessage(`${path} is in order: ${entries === 1 ? '1 entry' : `${entries} entries`}.`)
}

/** What servers list and nobody is offered. */
const listLeftOut = (servers: readonly ServerView[]) =>
  servers.flatMap(({ id, leftOut }) => leftOut.map((entry) => ({ server: id, ...entry })))
