import { createRoute, z } from '@hono/zod-openapi'
import type { LoggedEvent } from '@sallyport/core'
import type { AdminContext } from '../admin-context.ts'
import { filterFields, filterOf } from './event-query.ts'
import { inputOf } from './invalid-input.ts'
import { createRoutes, jsonOf, PROBLEMS } from './routes.ts'

const SAVINGS_BY = ['tool', 'agent', 'session'] as const
/** Sessions may be very many: those that kept out least are added up in one row. */
const MOST_ROWS = 1_000
const REST = '(others)'

const sumSchema = z.object({
  calls: z.number().int().openapi({ description: 'Calls of which not all went back, or which were isolated.' }),
  bytes: z.number().int().openapi({ description: 'What came of their servers.' }),
  returned_bytes: z.number().int(),
  tokens_kept: z.number().int().openapi({ description: 'Estimated: four bytes are one token.' }),
  tokens_spent: z.number().int().openapi({ description: 'What models of `extract` and `agent` read and wrote.' }),
})

const savingsSchema = z
  .object({
    by: z.enum(SAVINGS_BY),
    rows: z.array(sumSchema.extend({ name: z.string() })),
    total: sumSchema,
  })
  .openapi('Savings')

export type Savings = z.infer<typeof savingsSchema>
export type SavingsBy = Savings['by']
type Sum = z.infer<typeof sumSchema>
/** A failed call may have asked a model too. */
const ENDS = ['TOOL_CALL_COMPLETED', 'TOOL_CALL_FAILED'] as const
type Ended = Extract<LoggedEvent, { type: (typeof ENDS)[number] }>

const { trace: _trace, call: _call, type: _type, ...fields } = filterFields

const showSavings = createRoute({
  method: 'get',
  path: '/savings',
  summary: 'How many tokens stayed out of agents’ contexts, by the records that are kept',
  request: { query: inputOf({ ...fields, by: z.enum(SAVINGS_BY).optional() }) },
  responses: { 200: jsonOf(savingsSchema, 'The most first.'), ...PROBLEMS },
})

export const savingsRoutes = ({ store }: AdminContext) =>
  createRoutes().openapi(showSavings, async (c) => {
    const { by = 'tool', ...query } = c.req.valid('query')
    const records = store.each({ ...filterOf(query), types: ENDS }, c.req.raw.signal)
    return c.json(await savingsOf(records as AsyncIterable<Ended>, by), 200)
  })

const NAMES: Readonly<Record<SavingsBy, (call: Ended) => string>> = {
  tool: ({ tool_name }) => tool_name,
  agent: ({ agent }) => agent,
  session: ({ session }) => session,
}

async function savingsOf(records: AsyncIterable<Ended>, by: SavingsBy): Promise<Savings> {
  const sums = new Map<string, Sum>()
  for await (const record of records) {
    const name = NAMES[by](record)
    const { returned } = record
    if (returned !== undefined) sums.set(name, added(sums.get(name) ?? NOTHING, sumOf(record, returned)))
  }
  const rows = [...sums].map(([name, sum]) => ({ name, ...sum })).sort((a, b) => b.tokens_kept - a.tokens_kept)
  const rest = rows.splice(MOST_ROWS)
  if (rest.length > 0) rows.push({ name: REST, ...rest.reduce(added, NOTHING) })
  return { by, rows, total: rows.reduce(added, NOTHING) }
}

const NOTHING: Sum = { calls: 0, bytes: 0, returned_bytes: 0, tokens_kept: 0, tokens_spent: 0 }

const sumOf = ({ bytes = 0 }: Ended, returned: NonNullable<Ended['returned']>): Sum => ({
  calls: 1,
  bytes,
  returned_bytes: returned.bytes,
  tokens_kept: returned.tokens_kept,
  tokens_spent: (returned.tokens_in ?? 0) + (returned.tokens_out ?? 0),
})

const added = (one: Sum, other: Sum): Sum => ({
  calls: one.calls + other.calls,
  bytes: one.bytes + other.bytes,
  returned_bytes: one.returned_bytes + other.returned_bytes,
  tokens_kept: one.tokens_kept + other.tokens_kept,
  tokens_spent: one.tokens_spent + other.tokens_spent,
})
