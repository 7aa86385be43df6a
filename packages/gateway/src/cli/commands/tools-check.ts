import { defineCommand } from '../define-command.ts'
import type { GatewayClient, ServerView, ToolsFileView } from '../gateway-client.ts'
import { withLookingGateway } from '../reach-gateway.ts'
import { createScreen, type Screen } from '../screen.ts'
import { settledServers } from '../settled-servers.ts'
import { visibleLine } from '../terminal-text.ts'
import { unaskedServers, unaskedText } from '../unasked-servers.ts'

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
    const { file, servers } = await withLookingGateway(context, flags, (client) => look(client, context.signal))
    const unchecked = unaskedServers(servers)
    const isRight = file.problems.every(({ level }) => level !== 'wrong')
    const ok = isRight && unchecked.length === 0
    if (screen.json)
      screen.dataJson({ ok, ...file, leftOut: leftOutOf(servers), unchecked: unchecked.map(({ id }) => id) })
    else show(screen, { file, servers, unchecked })
    // What nobody could look at has not passed.
    if (!ok) context.process.exitCode = isRight ? EXIT_UNAVAILABLE : EXIT_DIFFERENCES
  },
})

async function look(client: GatewayClient, signal: AbortSignal) {
  const servers = await settledServers(client, signal)
  return { servers, file: await client.toolsFile(signal) }
}

interface Checked {
  readonly file: ToolsFileView
  readonly servers: readonly ServerView[]
  readonly unchecked: readonly ServerView[]
}

function show(screen: Screen, { file: { path, entries, problems }, servers, unchecked }: Checked): void {
  const { style } = screen
  const marks = { wrong: style.red('✗'), warning: style.yellow('!') }
  for (const [at, { level, problem, fix }] of problems.entries()) {
    screen.data(`${marks[level]} ${visibleLine(problem)}\n`)
    if (problems[at + 1]?.fix !== fix) screen.data(`  → ${visibleLine(fix)}\n`)
  }
  const leftOut = leftOutOf(servers)
  for (const { server, name, reason } of leftOut)
    screen.data(`${marks.warning} ${visibleLine(`"${name}" of server ${server} is left out: ${reason}`)}\n`)
  if (leftOut.length > 0) screen.data('  → Report it to the author of the server: nobody can use it.\n')
  for (const server of unchecked) screen.say(unaskedText(server, 'Its tools could not be checked.'))
  if (problems.length === 0 && unchecked.length === 0)
    screen.say(`${path} is in order: ${entries === 1 ? '1 entry' : `${entries} entries`}.`)
}

/** What servers list and nobody is offered. */
const leftOutOf = (servers: readonly ServerView[]) =>
  servers.flatMap(({ id, leftOut }) => leftOut.map((entry) => ({ server: id, ...entry })))
