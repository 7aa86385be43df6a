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
    'Exits with 6 when tools.yaml has an error, when a tool has no entry in it, when a definition is not the one that\n' +
    'was reviewed, or when a pattern matches no tool and so does not restrict what it should;\n' +
    'otherwise with 5 when a server cannot be reached. If no gateway runs, the servers are started for it, and tools.yaml\n' +
    'is not changed.',
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
    const isCorrect = file.problems.every(({ level }) => level !== 'wrong')
    const ok = isCorrect && unchecked.length === 0
    if (screen.json)
      screen.printJson({ ok, ...file, leftOut: listLeftOut(servers), unchecked: unchecked.map(({ id }) => id) })
    else show(screen, { file, servers, unchecked })
    // A server that could not be checked has not passed.
    if (!ok) context.process.exitCode = isCorrect ? EXIT_UNAVAILABLE : EXIT_DIFFERENCES
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
    screen.printMessage(`${path} is correct: ${entries === 1 ? '1 entry' : `${entries} entries`}.`)
}

/** Tools that servers list but the gateway does not offer. */
const listLeftOut = (servers: readonly ServerView[]) =>
  servers.flatMap(({ id, leftOut }) => leftOut.map((entry) => ({ server: id, ...entry })))
