import { createRoute, z } from '@hono/zod-openapi'
import { type CallFacts, type LoggedEvent, SallyportError } from '@sallyport/core'
import type { Store } from '../../store/store.ts'
import type { AdminContext } from '../admin/admin-context.ts'
import { eventSchema } from './event-query.ts'
import type { EventView } from './events.ts'
import { strictInput } from './invalid-input.ts'
import { createRoutes, jsonResponse, PROBLEM_RESPONSES } from './routes.ts'
import { readRuleLines } from './rule-lines.ts'

type CallEvent = LoggedEvent & CallFacts

const MIN_PREFIX = 6
/** Clients choose their trace ids, so one trace may have any number of calls. */
const MAX_RECORDS = 10_000
/** The beginning of an id is searched only in the newest calls; a complete id is found anywhere in the log. */
const MAX_PREFIX_CALLS = 5_000

const ruleLineSchema = z
  .object({
    file: z.string(),
    line: z.number().int(),
    text: z.string().optional().openapi({ description: 'Missing if the line no longer exists.' }),
    changed: z.iso.datetime().optional().openapi({ description: 'When the file was last changed.' }),
  })
  .openapi('RuleLine')

const explanationSchema = z
  .object({
    id: z.string().openapi({ description: 'The complete id.' }),
    kind: z.enum(['trace', 'call']),
    calls: z.array(z.object({ call_id: z.string(), trace_id: z.string(), records: z.array(eventSchema) })),
    rules: z.array(ruleLineSchema).openapi({ description: 'The current content of the lines whose rules decided.' }),
  })
  .openapi('Explanation')

export type Explanation = z.infer<typeof explanationSchema>

const explain = createRoute({
  method: 'get',
  path: '/explain/{id}',
  summary: 'All records of a trace, call by call, or of one call',
  request: { params: strictInput({ id: z.string() }) },
  responses: { 200: jsonResponse(explanationSchema, 'The records, in the order of the log.'), ...PROBLEM_RESPONSES },
})

export const explainRoutes = ({ store }: AdminContext) =>
  createRoutes().openapi(explain, async (c) => c.json(await explainId(store, c.req.valid('param').id), 200))

async function explainId(store: Store, typed: string): Promise<Explanation> {
  const id = typed.toLowerCase()
  if (!/^[0-9a-f]+$/.test(id) || id.length < MIN_PREFIX)
    throw new SallyportError(
      'INVALID_PARAMS',
      `${JSON.stringify(typed.slice(0, 100))} is not a trace id or call id, nor at least the first ${MIN_PREFIX} digits of one.`,
      { hint: 'Ids are hexadecimal; `sallyport audit` shows them.' },
    )
  return (await findExact(store, id)) ?? (await findExact(store, await resolvePrefix(store, id))) ?? throwUnknownId(id)
}

async function findExact(store: Store, id: string): Promise<Explanation | undefined> {
  const ofTrace = await store.find({ traceId: id, limit: MAX_RECORDS })
  if (ofTrace.length > 0) return buildExplanation(id, 'trace', ofTrace)
  const ofCall = await store.find({ callId: id, limit: MAX_RECORDS })
  return ofCall.length > 0 ? buildExplanation(id, 'call', ofCall) : undefined
}

async function buildExplanation(
  id: string,
  kind: Explanation['kind'],
  records: readonly LoggedEvent[],
): Promise<Explanation> {
  return { id, kind, calls: groupByCall(records), rules: [...(await readRuleLines(records))] }
}

async function resolvePrefix(store: Store, prefix: string): Promise<string> {
  const calls = (await store.find({
    types: ['TOOL_CALL_STARTED', 'POLICY_DENIED', 'APPROVAL_REQUESTED'],
    limit: MAX_PREFIX_CALLS,
  })) as readonly CallEvent[]
  const found = new Set(calls.flatMap((call) => [call.trace_id, call.call_id]).filter((id) => id.startsWith(prefix)))
  const [only] = found
  if (only === undefined) return throwUnknownId(prefix)
  if (found.size === 1) return only
  const some = [...found].slice(-5).join(', ')
  throw new SallyportError(
    'NAME_AMBIGUOUS',
    `${found.size} ids begin with ${prefix}: ${some}${found.size > 5 ? ', …' : ''}.`,
    {
      hint: 'Give more digits.',
    },
  )
}

function groupByCall(events: readonly LoggedEvent[]): Explanation['calls'] {
  const calls = new Map<string, Explanation['calls'][number]>()
  for (const event of events as readonly (CallEvent & EventView)[]) {
    const { call_id, trace_id } = event
    const call = calls.get(call_id) ?? { call_id, trace_id, records: [] }
    call.records.push(event)
    calls.set(call_id, call)
  }
  // What is left of a call whose other records were removed does not say who made it.
  return [...calls.values()].filter(({ records }) => records.some(({ tool_name }) => tool_name !== undefined))
}

function throwUnknownId(id: string): never {
  throw new SallyportError('TRACE_UNKNOWN', `No record has the trace id or call id ${id}.`, {
    hint: 'See `sallyport audit` for what was recorded.',
  })
}
