import { quoteText, SallyportError } from '@sallyport/core'
import { buildRouteMap } from '@stricli/core'
import {
  approvalFacts,
  approvalReminder,
  formatApprovalOutcome,
  formatChange,
  formatTimeLeft,
} from '../approvals/approval-text.ts'
import { watchApprovals } from '../approvals/approval-watch.ts'
import type { CliContext } from '../cli-context.ts'
import { defineCommand } from '../define-command.ts'
import { noGatewayMessage } from '../find-home.ts'
import type { ApprovalReply, ApprovalView, GatewayClient } from '../gateway/gateway-client.ts'
import { withRecords } from '../gateway/with-gateway.ts'
import type { GlobalFlags } from '../global-flags.ts'
import { askTerminal, isTerminal } from '../terminal/ask-terminal.ts'
import { formatTimeAgo } from '../terminal/format-time-ago.ts'
import { type Example, withOverview } from '../terminal/help-text.ts'
import { createScreen, type Screen } from '../terminal/screen.ts'
import type { Column } from '../terminal/table.ts'
import { visibleLine } from '../terminal/terminal-text.ts'

const EXAMPLES: readonly Example[] = [
  ['approvals', 'The calls that wait for approval'],
  ['approvals show 3f', 'One of them, with its arguments in full; the beginning of its id is enough'],
  ['approvals approve 3f', 'Approve it once'],
  ['approvals approve 3f --session', 'Approve it for this session, with the same arguments'],
  ['approvals deny 3f --why "not on a Friday"', 'Refuse it; the agent sees why'],
  ['approvals watch', 'Wait for requests and answer each'],
]

const ID = {
  kind: 'tuple',
  parameters: [{ brief: 'Its id, or a unique beginning of it', placeholder: 'id', parse: String }],
} as const

/** Arguments up to this length are never truncated in the list, even with 80 columns. */
const MAX_LISTED = 20
/** The limit of the API; a model reads the text. */
const MAX_WHY_LENGTH = 500

const why = {
  kind: 'parsed',
  parse: parseWhy,
  optional: true,
  placeholder: 'text',
  brief: 'The reason; it is recorded, and the agent sees it after a refusal',
} as const

const listCommand = defineCommand<object>({
  brief: 'List the calls that wait for approval',
  examples: [['approvals list', 'Who asks for what, and how long they wait']],
  flags: {},
  run: async (context, flags) => {
    const screen = createScreen(context, flags)
    const { approvals, age } = await withRecords(context, flags, async (client, found) => ({
      approvals: await client.approvals(),
      age: found,
    }))
    if (screen.json) return screen.printJson({ approvals })
    if (age !== 'running') return screen.printMessage(`Nothing waits for approval. ${noGatewayMessage(context, flags)}`)
    if (approvals.length === 0) return screen.printMessage('Nothing waits for approval.')
    screen.printTable(columns(context.now()), approvals)
  },
})

const showCommand = defineCommand<object, [string]>({
  brief: 'Show one, with its arguments in full',
  examples: [['approvals show 3f9a', 'By the beginning of its id']],
  flags: {},
  positional: ID,
  run: async (context, flags, id) => {
    const screen = createScreen(context, flags)
    const approval = await withRecords(context, flags, (client) => findApproval(client, id))
    if (screen.json) return screen.printJson(approval)
    screen.printFacts(approvalFacts(approval, context.now()))
  },
})

interface ApproveFlags {
  readonly session?: boolean
  readonly always?: boolean
  readonly yes?: boolean
  readonly why?: string
}

const approveCommand = defineCommand<ApproveFlags, [string]>({
  brief: 'Approve a call',
  description:
    'Once, unless a flag says otherwise. An approval is valid only for exactly the arguments that were shown.\n' +
    'In a terminal, arguments that the list truncates are shown in full first, and you have to confirm.\n' +
    '--always changes tools.yaml: the change is shown first, and you have to confirm.',
  examples: [
    ['approvals approve 3f9a', 'Once'],
    ['approvals approve 3f9a --session', 'Until the end of the session, for the same arguments'],
    ['approvals approve 3f9a --always', 'Never ask about this tool again: shows what would be written, then asks'],
  ],
  flags: {
    session: { kind: 'boolean', optional: true, withNegated: false, brief: 'For the rest of the session' },
    always: { kind: 'boolean', optional: true, withNegated: false, brief: 'Permanently, for all arguments' },
    yes: { kind: 'boolean', optional: true, withNegated: false, brief: 'Do not ask first' },
    why,
  },
  positional: ID,
  run: async (context, flags, id) => {
    const answer = parseScope(flags)
    const screen = createScreen(context, flags)
    await answerOne({ context, flags, screen, id }, { answer, why: flags.why })
  },
})

const denyCommand = defineCommand<{ readonly why?: string }, [string]>({
  brief: 'Refuse a call',
  examples: [
    ['approvals deny 3f9a', 'It is not made'],
    ['approvals deny 3f9a --why "use the test database"', 'It is not made, and the agent sees why'],
  ],
  flags: { why },
  positional: ID,
  run: (context, flags, id) => {
    const screen = createScreen(context, flags)
    return answerOne({ context, flags, screen, id }, { answer: 'deny', why: flags.why })
  },
})

const watchCommand = defineCommand<object>({
  brief: 'Wait for requests and answer each, until Ctrl-C',
  description:
    'Answers of others are shown too. Without a terminal, or with --json, it prints a line of JSON for each event.',
  examples: [
    ['approvals watch', 'Show each request in full and ask'],
    ['approvals watch --json | ./notify-me', 'Send each one to a program'],
  ],
  flags: {},
  run: (context, flags) => watchApprovals(context, flags),
})

const ROUTES = { list: listCommand, show: showCommand, approve: approveCommand, deny: denyCommand, watch: watchCommand }

export const approvalsCommands = withOverview(
  buildRouteMap<keyof typeof ROUTES, CliContext>({
    routes: Object.assign(Object.create(null), ROUTES),
    defaultCommand: 'list',
    docs: { brief: 'List and answer the calls that wait for approval' },
  }),
  EXAMPLES,
)

function parseScope({ session, always }: ApproveFlags): 'once' | 'session' | 'always' {
  if (session && always) throw new SallyportError('USAGE', 'Either --session or --always can be given, not both.')
  if (always) return 'always'
  return session ? 'session' : 'once'
}

interface AnswerContext {
  readonly context: CliContext
  readonly flags: GlobalFlags & Pick<ApproveFlags, 'yes'>
  readonly screen: Screen
  readonly id: string
}

async function answerOne({ context, flags, screen, id: typed }: AnswerContext, reply: ApprovalReply): Promise<void> {
  const answered = await withRecords(context, flags, async (client) => {
    const approval = await findApproval(client, typed)
    const { id } = approval
    if (reply.answer === 'always') await confirmAlways(client, { context, flags, screen, id })
    else if (reply.answer !== 'deny') await confirmLongArguments(approval, { context, flags, screen, id })
    return client.answerApproval(id, reply)
  })
  if (screen.json) return screen.printJson(answered)
  screen.printMessage(formatApprovalOutcome(answered))
}

/** The list truncates long arguments, so they are shown in full and the user has to confirm. */
async function confirmLongArguments(approval: ApprovalView, { context, flags, screen }: AnswerContext): Promise<void> {
  if (flags.yes || screen.json || !isTerminal(context)) return
  if (visibleLine(JSON.stringify(approval.arguments)).length <= MAX_LISTED) return
  screen.printFacts(approvalFacts(approval, context.now()))
  const reminder = approvalReminder(approval)
  if (reminder !== undefined) screen.printMessage(reminder)
  if (/^y(es)?$/i.test((await askTerminal('Approve it? [y/N] ', context)) ?? '')) return
  throw new SallyportError('CALL_CANCELLED', 'Nothing was approved, and the call still waits.')
}

/** GOV-21: a permanent change is shown before it is written. */
async function confirmAlways(client: GatewayClient, { context, flags, screen, id }: AnswerContext): Promise<void> {
  const { change } = await client.answerApproval(id, { answer: 'always', dryRun: true })
  if (change && !screen.json) screen.printMessage(formatChange(change))
  if (flags.yes) return
  if (!isTerminal(context))
    throw new SallyportError('USAGE', 'There is no terminal to confirm this change of tools.yaml.', {
      hint: 'Check the change, then add --yes.',
    })
  if (/^y(es)?$/i.test((await askTerminal('Write this? [y/N] ', context)) ?? '')) return
  throw new SallyportError('CALL_CANCELLED', 'Nothing was written, and the call still waits.')
}

const columns = (now: Date): readonly Column<ApprovalView>[] => [
  { title: 'ID', value: ({ id }) => id, paint: (_, style) => style.bold },
  { title: 'TOOL', value: ({ tool }) => tool, flexible: true },
  { title: 'AGENT', value: ({ agent, profile }) => `${agent}.${profile}`, flexible: true },
  { title: 'RISK', value: ({ risk }) => risk },
  { title: 'ASKED', value: ({ requestedAt }) => formatTimeAgo(new Date(requestedAt), now) },
  { title: 'EXPIRES IN', value: (approval) => formatTimeLeft(approval, now) },
  { title: 'ARGUMENTS', value: ({ arguments: args }) => JSON.stringify(args), flexible: true },
]

function parseWhy(typed: string): string {
  if (typed.length <= MAX_WHY_LENGTH) return typed
  throw new SallyportError('USAGE', `--why has ${typed.length} characters; at most ${MAX_WHY_LENGTH} are expected.`)
}

/** Finds a request by its id, or by a unique prefix of it. */
async function findApproval(client: GatewayClient, typed: string): Promise<ApprovalView> {
  const waiting = typed === '' ? [] : await client.approvals()
  const found = waiting.filter(({ id }) => id.startsWith(typed))
  const [one] = found
  if (one && (found.length === 1 || one.id === typed)) return one
  // If the request is no longer pending, the gateway reports how it ended.
  if (!one) return client.approval(typed || '-')
  const ids = found.map(({ id }) => id).join(', ')
  throw new SallyportError(
    'NAME_AMBIGUOUS',
    `${quoteText(typed, 60)} is the beginning of ${found.length} requests: ${ids}.`,
    {
      hint: 'Type more of the id.',
    },
  )
}
