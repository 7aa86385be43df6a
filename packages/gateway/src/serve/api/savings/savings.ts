import { createRoute, z } from '@hono/zod-openapi'
import type { LoggedEvent } from '@sallyport/core'
import type { AdminContext } from '../../admin/admin-context.ts'
import { filterFields, toEventFilter } from '../event-query.ts'
import { strictInput } from '../invalid-input.ts'
import { createRoutes, jsonResponse, PROBLEM_RESPONSES } from '../routes.ts'

const SAVINGS_GROUPINGS = ['tool', 'agent', 'session', 'hour', 'day'] as const
/** There may be many sessions: those that saved least are summed up in one row. */
const MAX_ROWS = 1_000
const OTHERS_ROW = '(others)'

const sumSchema = z.object({
  calls: z.number().int().openapi({ description: 'Calls whose result was shortened or isolated.' }),
  bytes: z.number().int().openapi({ description: 'Size of the results from servers.' }),
  returned_bytes: z.number().int(),
  tokens_kept: z.number().int().openapi({ description: 'Estimated: four bytes are one token.' }),
  tokens_spent: z
    .number()
    .int()
    .openapi({ description: 'Tokens that the models of `extract` and `agent` read and wrote.' }),
})

const savingsSchema = z
  .object({
    by: z.enum(SAVINGS_GROUPINGS),
    rows: z.array(sumSchema.extend({ name: z.string() })),
    total: sumSchema,
  })
  .openapi('Savings')

export type Savings = z.infer<typeof savingsSchema>
export type SavingsBy = Savings['by']
type Sum = z.infer<typeof sumSchema>
/** A failed call may have used a model, too. */
const END_TYPES = ['TOOL_CALL_COMPLETED', 'TOOL_CALL_FAILED'] as const
type EndEvent = Extract<LoggedEvent, { type: (typeof END_TYPES)[number] }>

const { trace: _trace, call: _call, type: _type, ...fields } = filterFields

const showSavings = createRoute({
  method: 'get',
  path: '/savings',
  summary: 'How many tokens were kept out of agents’ contexts, according to the retained records',
  request: { query: strictInput({ ...fields, by: z.enum(SAVINGS_GROUPINGS).optional() }) },
  responses: { 200: jsonResponse(savingsSchema, 'Largest savings first.'), ...PROBLEM_RESPONSES },
})

export const savingsRoutes = ({ store }: AdminContext) =>
  createRoutes().openapi(showSavings, async (c) => {
    const { by = 'tool', ...query } = c.req.valid('query')
    const records = store.each({ ...toEventFilter(query), types: END_TYPES }, c.req.raw.signal)
    return c.json(await computeSavings(records as AsyncIterable<EndEvent>, by), 200)
  })

const GROUP_NAMES: Readonly<Record<SavingsBy, (call: EndEvent) => string>> = {
  tool: ({ tool_name }) => tool_name,
  agent: ({ agent }) => agent,
  session: ({ session }) => session,
  // Times of records are ISO 8601 in UTC.
  hour: ({ time }) => `${time.slice(0, 13)}:00Z`,
  day: ({ time }) => time.slice(0, 10),
}

async function computeSavings(records: AsyncIterable<EndEvent>, by: SavingsBy): Promise<Savings> {
  const sums = new Map<string, Sum>()
  for await (const record of records) {
    const name = GROUP_NAMES[by](record)
    const { returned } = record
    if (returned !== undefined) sums.set(name, addSums(sums.get(name) ?? ZERO_SUM, toSum(record, returned)))
  }
  const rows = [...sums].map(([name, sum]) => ({ name, ...sum })).sort((a, b) => b.tokens_kept - a.tokens_kept)
  const rest = rows.splice(MAX_ROWS)
  if (rest.length > 0) rows.push({ name: OTHERS_ROW, ...rest.reduce(addSums, ZERO_SUM) })
  return { by, rows, total: rows.reduce(addSums, ZERO_SUM) }
}

const ZERO_SUM: Sum = { calls: 0, bytes: 0, returned_bytes: 0, tokens_kept: 0, tokens_spent: 0 }

const toSum = ({ bytes = 0 }: EndEvent, returned: NonNullable<EndEvent['returned']>): Sum => ({
  calls: 1,
  bytes,
  returned_bytes: returned.bytes,
  tokens_kept: returned.tokens_kept,
  tokens_spent: (returned.tokens_in ?? 0) + (returned.tokens_out ?? 0),
})

const addSums = (one: Sum, other: Sum): Sum => ({
  calls: one.calls + other.calls,
  bytes: one.bytes + other.bytes,
  returned_bytes: one.returned_bytes + other.returned_bytes,
  tokens_kept: one.tokens_kept + other.tokens_kept,
  tokens_spent: one.tokens_spent + other.tokens_spent,
})
