import { cutText, isolatedName } from '@sallyport/core'
import type { CliContext } from '../../cli-context.ts'
import { defineCommand } from '../../define-command.ts'
import type { ServerView } from '../../gateway/gateway-client.ts'
import { waitForServers } from '../../gateway/wait-for-servers.ts'
import { withGateway } from '../../gateway/with-gateway.ts'
import type { GlobalFlags } from '../../global-flags.ts'
import { formatTimeAgo } from '../../terminal/format-time-ago.ts'
import type { Example } from '../../terminal/help-text.ts'
import { createScreen, type Screen } from '../../terminal/screen.ts'
import type { Column } from '../../terminal/table.ts'
import { type Style, visibleLine } from '../../terminal/terminal-text.ts'

export const LIST_EXAMPLES: readonly Example[] = [
  ['servers', 'All servers, their states, and why one is not ready'],
  ['servers github', 'Everything about one: its entry, and the last lines of its output'],
]

export const listCommand = defineCommand<object, [string?]>({
  brief: 'Show the servers behind the gateway and their state',
  examples: [...LIST_EXAMPLES, ['servers list --json', 'The same for a program']],
  flags: {},
  positional: {
    kind: 'tuple',
    parameters: [{ brief: 'Only this one, in detail', placeholder: 'name', parse: String, optional: true }],
  },
  run: (context, flags, name) => {
    const screen = createScreen(context, flags)
    return name === undefined ? listServers(context, flags, screen) : showServer(context, { flags, screen, name })
  },
})

async function listServers(context: CliContext, flags: GlobalFlags, screen: Screen): Promise<void> {
  const servers = await withGateway(context, flags, (client, age) =>
    age === 'fresh' ? waitForServers(client, context.signal) : client.servers(context.signal),
  )
  if (screen.json) return screen.printJson({ servers })
  screen.printTable(columns(context.now()), servers.flatMap(toRows))
}

interface ShowOptions {
  readonly flags: GlobalFlags
  readonly screen: Screen
  readonly name: string
}

async function showServer(context: CliContext, { flags, screen, name }: ShowOptions): Promise<void> {
  const server = await withGateway(context, flags, async (client, age) => {
    if (age === 'fresh') await waitForServers(client, context.signal)
    return client.server(name, context.signal)
  })
  if (screen.json) return screen.printJson(server)
  screen.printFacts(details(server, context.now()).map(([fact, value]) => ({ name: fact, value })))
  printMessages(screen, 'last messages', server.messages)
  printMessages(screen, 'last messages of the isolated instance', server.counterpart?.messages ?? [])
}

function printMessages(screen: Screen, title: string, messages: readonly string[]): void {
  if (messages.length === 0) return
  screen.print(`\n${title}\n`)
  for (const line of messages) screen.print(`  ${visibleLine(line)}\n`)
}

/** One instance of a server. */
type ServerRow = Pick<ServerView, 'id' | 'kind' | 'state' | 'restarts' | 'since' | 'reason' | 'health'> & {
  readonly tools: number | undefined
}

function toRows(server: ServerView): readonly ServerRow[] {
  const { id, kind, counterpart } = server
  if (counterpart === undefined) return [server]
  const reason = counterpart.reason ?? describeDrift(counterpart)
  // Tools are listed by the normal instance.
  return [server, { ...counterpart, id: isolatedName(id), kind, tools: undefined, ...(reason && { reason }) }]
}

type CounterpartView = NonNullable<ServerView['counterpart']>

/** How its tools differ from those that are listed. */
function describeDrift({ missing, differing }: CounterpartView): string | undefined {
  const parts = [
    ...(missing.length > 0 ? [`does not offer ${missing.join(', ')}`] : []),
    ...(differing.length > 0 ? [`has other definitions of ${differing.join(', ')}`] : []),
  ]
  return parts.length > 0 ? parts.join('; ') : undefined
}

const columns = (now: Date): readonly Column<ServerRow>[] => [
  { title: 'NAME', value: ({ id }) => id },
  { title: 'KIND', value: ({ kind }) => kind },
  { title: 'STATE', value: ({ state }) => state, paint: ({ state }, style) => stateColor(state, style) },
  { title: 'TOOLS', value: ({ tools }) => tools, align: 'right' },
  { title: 'RESTARTS', value: ({ restarts }) => restarts, align: 'right' },
  { title: 'SINCE', value: ({ since }) => formatTimeAgo(new Date(since), now) },
  { title: 'REASON', value: ({ reason, health }) => shortReason(reason ?? health?.reason), flexible: true },
]

/** `servers <name>` shows all of it: a missing program, for example, comes with the whole PATH. */
const MAX_REASON_LENGTH = 120

const shortReason = (reason: string | undefined): string | undefined => reason && cutText(reason, MAX_REASON_LENGTH)

function stateColor(state: ServerView['state'], style: Style): (text: string) => string {
  if (state === 'ready') return style.green
  if (state === 'broken' || state === 'needs-login') return style.red
  return state === 'starting' || state === 'restarting' ? style.yellow : style.dim
}

function details(server: ServerView, now: Date): readonly (readonly [string, string | undefined])[] {
  const { config } = server
  const list = (names: readonly string[] | undefined): string | undefined =>
    names?.length ? visibleLine(names.join(', ')) : undefined
  return [
    ['name', server.id],
    ['title', config.title && visibleLine(config.title)],
    ['kind', server.kind],
    ['state', `${server.state}, since ${formatTimeAgo(new Date(server.since), now)}`],
    ['reason', server.reason && visibleLine(server.reason)],
    ['health', server.health && healthText(server.health, now)],
    ['next attempt', server.retryAt === undefined ? undefined : new Date(server.retryAt).toISOString()],
    ['restarts', String(server.restarts)],
    ['protocol', server.era],
    ['callers', callersText(server)],
    ['process', server.pid === undefined ? undefined : String(server.pid)],
    ...isolatedDetails(server, now),
    ['own connections', server.ownConnections && `${server.ownConnections.count}, for callers that do not share one`],
    ['offers', `${server.tools} tools, ${server.resources} resources, ${server.prompts} prompts`],
    ['left out', server.leftOut.length === 0 ? undefined : server.leftOut.map(leftOutText).join('\n')],
    ['dropped', droppedText(server.dropped)],
    ['image', config.sandbox?.image && visibleLine(config.sandbox.image)],
    ['command', commandText(config)],
    ['sandbox', sandboxText(config.sandbox)],
    ['mounts', list(config.sandbox?.mounts)],
    ['forwards', list(config.sandbox?.forwards.map(({ listen, to }) => `${listen} to ${to}`))],
    ['limits', list(limitTexts(config.sandbox?.limits))],
    ['folder', config.cwd && visibleLine(config.cwd)],
    ['url', config.url && visibleLine(config.url)],
    ['url_isolated', config.urlIsolated && visibleLine(config.urlIsolated)],
    ['env', list(config.env)],
    ['headers', list(config.headers)],
    ['only tools', list(config.includeTools)],
    ['without tools', list(config.excludeTools)],
    ['entry', config.location.line === 0 ? config.location.file : `${config.location.file}:${config.location.line}`],
  ]
}

function commandText({ command, args = [] }: ServerView['config']): string | undefined {
  const words = command ? [command, ...args] : args
  return words.length === 0 ? undefined : visibleLine(words.join(' '))
}

const NETWORKS = {
  brokered: 'its network follows the label of the session',
  host: 'it has the network of this machine until its session holds private data',
  none: 'without a network',
} as const

function sandboxText(sandbox: ServerView['config']['sandbox']): string | undefined {
  if (sandbox === undefined) return undefined
  if (sandbox.driver === 'none') return 'none (allow_unsandboxed): it runs only for sessions without private data'
  return `${sandbox.driver}, ${NETWORKS[sandbox.network]}`
}

/** Those of its entry. */
function limitTexts({ memory, processes, temporaryFiles }: SandboxLimitsView = {}): readonly string[] {
  return [
    ...(memory === undefined ? [] : [`${toMebibytes(memory)} of memory`]),
    ...(processes === undefined ? [] : [`${processes} processes`]),
    ...(temporaryFiles === undefined ? [] : [`${toMebibytes(temporaryFiles)} of temporary files`]),
  ]
}

type SandboxLimitsView = NonNullable<ServerView['config']['sandbox']>['limits']

const toMebibytes = (bytes: number): string => `${Math.floor(bytes / 1024 ** 2)} MiB`

function callersText({ takesCallers, config }: ServerView): string | undefined {
  if (config.identity === undefined) return undefined
  if (takesCallers === undefined) return 'named to it once it is ready (identity: forward)'
  return takesCallers
    ? 'named to it with each request (identity: forward)'
    : 'not named to it: it has identity: forward, but does not declare the capability sallyport/caller'
}

function isolatedDetails({ counterpart }: ServerView, now: Date): readonly (readonly [string, string | undefined])[] {
  if (counterpart === undefined) return []
  const { state, since, reason, health, retryAt, restarts } = counterpart
  const drift = describeDrift(counterpart)
  return [
    ['isolated instance', `${state}, since ${formatTimeAgo(new Date(since), now)}, ${restarts} restarts`],
    ['its reason', reason && visibleLine(reason)],
    ['its health', health && healthText(health, now)],
    ['its next attempt', retryAt === undefined ? undefined : new Date(retryAt).toISOString()],
    ['its tools', drift && visibleLine(drift)],
  ]
}

function healthText({ isHealthy, since, reason }: NonNullable<ServerView['health']>, now: Date): string {
  const found = isHealthy ? 'ok' : `failing: ${visibleLine(reason ?? '')}`
  return `${found}, since ${formatTimeAgo(new Date(since), now)}`
}

function droppedText(dropped: ServerView['dropped']): string | undefined {
  const counts = Object.entries(dropped).map(([reason, count]) => `${count} messages: ${reason.replaceAll('_', ' ')}`)
  return counts.length === 0 ? undefined : counts.join('\n')
}

const leftOutText = ({ name, reason }: ServerView['leftOut'][number]): string => visibleLine(`${name}: ${reason}`)
