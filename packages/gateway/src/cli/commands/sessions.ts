import { didYouMean, isSensitivity, SallyportError, SENSITIVITIES, type Sensitivity } from '@sallyport/core'
import { buildRouteMap } from '@stricli/core'
import type { CliContext } from '../cli-context.ts'
import { defineCommand } from '../define-command.ts'
import type { EndedSessionView, SessionView } from '../gateway/gateway-client.ts'
import { withRecords } from '../gateway/with-gateway.ts'
import { formatTimeAgo } from '../terminal/format-time-ago.ts'
import { type Example, withOverview } from '../terminal/help-text.ts'
import { formatLocalTime } from '../terminal/local-time.ts'
import { createScreen } from '../terminal/screen.ts'
import type { Column } from '../terminal/table.ts'
import { visibleLine } from '../terminal/terminal-text.ts'

const LIST_EXAMPLES: readonly Example[] = [
  ['sessions list', 'Which sessions hold private data, and since when'],
  ['sessions list --json', 'With the names of the datasets that each has seen'],
]

const USER_FLAG = {
  kind: 'parsed',
  parse: String,
  optional: true,
  brief: 'Whose session, if several users have one of that name',
} as const

const SESSION_PARAMETER = {
  brief: 'The name of the session, as `sessions list` shows it',
  placeholder: 'session',
  parse: String,
} as const

const listCommand = defineCommand<object>({
  brief: 'List the sessions that have called since the start or have a label',
  examples: LIST_EXAMPLES,
  flags: {},
  run: async (context, flags) => {
    const screen = createScreen(context, flags)
    const sessions = await withRecords(context, flags, (client) => client.sessions())
    if (screen.json) return screen.printJson({ sessions })
    if (sessions.length === 0) return screen.printMessage('No session has called yet, and none has a label.')
    screen.printTable(columns(context.now()), sessions)
    const marked = sessions.filter(({ problem }) => problem !== undefined)
    for (const { session, problem } of marked)
      screen.printMessage(`! ${visibleLine(`${session} counts as SECRET: ${problem}`)}`)
  },
})

const raiseCommand = defineCommand<{ readonly user?: string; readonly why?: string }, [string, Sensitivity]>({
  brief: 'Raise the label of a session',
  description: 'A label only rises. From CONFIDENTIAL on (labels.private_from), calls that reach out are refused.',
  examples: [['sessions raise local CONFIDENTIAL --why "customer data was pasted"', 'Nothing of it leaves any more']],
  flags: {
    user: USER_FLAG,
    why: { kind: 'parsed', parse: String, optional: true, placeholder: 'text', brief: 'The reason, for the record' },
  },
  positional: {
    kind: 'tuple',
    parameters: [SESSION_PARAMETER, { brief: SENSITIVITIES.join(', '), placeholder: 'level', parse: parseLevel }],
  },
  run: async (context, flags, ...[session, sensitivity]) => {
    const screen = createScreen(context, flags)
    const { user, why } = flags
    const named = { session, sensitivity, ...(user !== undefined && { user }), ...(why !== undefined && { why }) }
    const raised = await withRecords(context, flags, (client) => client.raiseSession(named))
    if (screen.json) return screen.printJson(raised)
    const effect = raised.private ? 'Calls of it that reach out are refused.' : 'It is not private.'
    screen.printMessage(`The session ${visibleLine(session)} is ${raised.sensitivity}. ${effect}`)
  },
})

const endCommand = defineCommand<{ readonly user?: string; readonly purge?: boolean }, [string]>({
  brief: 'End a session: the next one of the same credential starts PUBLIC',
  description:
    'The agent itself still remembers what it has read: end its conversation, too. Connections that are open keep the\n' +
    'session that has ended, with its label.',
  examples: [
    ['sessions end local', 'The next call of the local agents begins a new session'],
    ['sessions end local --purge', 'Its key is destroyed, and what it has stored is removed, at once'],
  ],
  flags: {
    user: USER_FLAG,
    purge: {
      kind: 'boolean',
      optional: true,
      brief: 'Destroy its key, and remove its workspace and stored results, at once',
    },
  },
  positional: { kind: 'tuple', parameters: [SESSION_PARAMETER] },
  run: async (context, flags, session) => {
    const screen = createScreen(context, flags)
    const { user, purge = false } = flags
    const named = { session, purge, ...(user !== undefined && { user }) }
    const reply = await withRecords(context, flags, (client) => client.endSession(named))
    if (screen.json) return screen.printJson(reply)
    const { ended, next } = reply
    screen.printMessage(`The session ${visibleLine(session)} (${ended.sensitivity}) has ended. ${describeData(reply)}`)
    for (const line of describeServers(reply)) screen.printMessage(line)
    screen.printMessage(`New connections are in the session ${visibleLine(next)}, which starts PUBLIC.`)
    if (ended.private) screen.printMessage('! The agent still remembers what it has read: end its conversation, too.')
  },
})

function describeData({ removed, kept_until: until = '' }: EndedSessionView): string {
  if (removed === undefined) return `What it has stored is removed after ${formatLocalTime(until)}.`
  const { files, bytes, key } = removed
  const stored = `${countFiles(files)} (${bytes} bytes)`
  return key ? `Its key is destroyed, and ${stored} removed.` : `It had no key. ${stored} removed.`
}

function describeServers({ removed, servers }: EndedSessionView): readonly string[] {
  if (removed === undefined) return []
  if (servers === undefined)
    return [
      'No gateway runs. At its next start, it asks servers with `identity: forward` to remove what they have stored.',
    ]
  return servers.map(({ server, outcome, files, bytes, reason = '' }) => {
    if (outcome === 'removed') return `Server ${server} has removed ${countFiles(files)} (${bytes} bytes).`
    if (outcome === 'unsupported')
      return `! Server ${server} cannot be asked to remove what it has stored of this session: remove it there yourself.`
    return `! Server ${server} may still have data of this session: ${visibleLine(reason)} The gateway asks it again until it answers.`
  })
}

const countFiles = (files: number): string => `${files} stored ${files === 1 ? 'file' : 'files'}`

export const sessionCommands = withOverview(
  buildRouteMap<'list' | 'raise' | 'end', CliContext>({
    routes: Object.assign(Object.create(null), { list: listCommand, raise: raiseCommand, end: endCommand }),
    defaultCommand: 'list',
    docs: { brief: 'Show which sessions hold private data, raise their labels, and end them' },
  }),
  [...LIST_EXAMPLES, ['sessions raise local SECRET', 'Raise a label'], ['sessions end local', 'End a session']],
)

const columns = (now: Date): readonly Column<SessionView>[] => [
  { title: 'SESSION', value: ({ session, ended }) => (ended ? `${session} (ended)` : session), flexible: true },
  { title: 'LABEL', value: ({ sensitivity, untrusted }) => `${sensitivity}${untrusted ? ', untrusted' : ''}` },
  { title: 'USER', value: ({ user }) => user, flexible: true },
  { title: 'AGENT', value: ({ agent }) => agent, flexible: true },
  { title: 'RAISED', value: ({ raised }) => (raised === undefined ? '' : formatTimeAgo(new Date(raised), now)) },
  { title: 'HAS SEEN', value: ({ datasets }) => datasets.map(({ name }) => name).join(', '), flexible: true },
]

function parseLevel(text: string): Sensitivity {
  const level = text.toUpperCase()
  if (isSensitivity(level)) return level
  throw new SallyportError('USAGE', `"${text}" is not a level.${didYouMean(level, SENSITIVITIES)}`, {
    hint: `Expected ${SENSITIVITIES.join(', ')}.`,
  })
}
