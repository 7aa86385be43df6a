import { type AuditFilter, FILTER_FLAGS, toEventQuery } from '../../audit/audit-filter.ts'
import type { CliContext } from '../../cli-context.ts'
import { defineCommand } from '../../define-command.ts'
import type { Savings, SavingsBy } from '../../gateway/gateway-client.ts'
import { withRecords } from '../../gateway/with-gateway.ts'
import type { GlobalFlags } from '../../global-flags.ts'
import { createScreen } from '../../terminal/screen.ts'
import { visibleLine } from '../../terminal/terminal-text.ts'

interface SavingsFlags extends Pick<AuditFilter, 'since' | 'until' | 'agent' | 'session' | 'server' | 'tool'> {
  readonly by?: SavingsBy
}

const { since, until, agent, session, server, tool } = FILTER_FLAGS

export const savingsCommand = defineCommand<SavingsFlags>({
  brief: 'Count the tokens of results that stayed out of agents’ contexts',
  description:
    'From the stored records: for every call whose result was shaped or isolated, what its server sent and what was\n' +
    'returned. Tokens are estimates, four bytes each. MODEL is what the models of `extract` and `agent` used for it.',
  examples: [
    ['tools savings', 'Each tool, the largest savings first, and the sum'],
    ['tools savings --by agent --since 7d', 'What each agent saved in a week'],
    ['tools savings --by session --json', 'Each session, for programs'],
  ],
  flags: {
    by: {
      kind: 'enum',
      values: ['tool', 'agent', 'session'],
      optional: true,
      brief: 'One row for each of these (tool)',
    },
    ...{ since, until, agent, session, server, tool },
  },
  run: showSavings,
})

async function showSavings(context: CliContext, flags: SavingsFlags & GlobalFlags): Promise<void> {
  const screen = createScreen(context, flags)
  const { by = 'tool' } = flags
  const query = { ...toEventQuery(flags), by }
  const savings = await withRecords(context, flags, (client) => client.savings(query, context.signal))
  if (screen.json) return screen.printJson({ estimate: true, ...savings })
  const { rows, total } = savings
  if (rows.length === 0) return screen.printMessage('No stored record is of a result that was shaped or isolated.')
  screen.printTable<Savings['rows'][number]>(
    [
      { title: by.toUpperCase(), value: ({ name }) => visibleLine(name), flexible: true },
      { title: 'CALLS', value: ({ calls }) => calls, align: 'right' },
      { title: 'RECEIVED', value: ({ bytes }) => bytes, align: 'right' },
      { title: 'RETURNED', value: ({ returned_bytes: bytes }) => bytes, align: 'right' },
      { title: 'TOKENS SAVED', value: ({ tokens_kept: tokens }) => tokens, align: 'right' },
      { title: 'MODEL', value: ({ tokens_spent: tokens }) => tokens, align: 'right' },
    ],
    [...rows, { name: 'all', ...total }],
  )
  screen.printMessage(`About ${total.tokens_kept} tokens stayed out of agents’ contexts: an estimate.`)
}
