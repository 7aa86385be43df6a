import { createRoute, z } from '@hono/zod-openapi'
import {
  type CallFacts,
  higherSensitivity,
  isPrivate,
  LOWEST_SENSITIVITY,
  type LoggedEvent,
  MODES,
  SallyportError,
  type Sensitivity,
  STEP_NAMES,
} from '@sallyport/core'
import type { AdminContext } from '../admin/admin-context.ts'
import { strictInput } from './invalid-input.ts'
import { callerOf, createRoutes, jsonResponse, PROBLEM_RESPONSES, viaField } from './routes.ts'

const outcome = z.enum(['allow', 'ask', 'deny'])

const todaySchema = z
  .object({
    before: outcome.openapi({ description: 'What the rules decided then, whatever a person answered.' }),
    now: z.enum(['allow', 'ask', 'deny', 'undecided']),
    mode: z.enum(MODES).openapi({ description: 'The mode of now.' }),
    step: z.enum(STEP_NAMES).optional(),
    reason: z.string(),
    rule: z.object({ file: z.string(), line: z.number() }).optional(),
  })
  .openapi('CallToday')

const RESULT_STATES = ['stored', 'whole', 'none', 'private', 'removed', 'large', 'binary'] as const

const resultSchema = z
  .object({
    state: z.enum(RESULT_STATES).openapi({
      description:
        '`whole`: the agent got all of it, and nothing was stored. `none`: nothing came back, or it was not stored. `private`: its session has seen private data, so nobody reads it here. `removed`: it was stored, and is not any more. `large`, `binary`: it is stored, and not shown.',
    }),
    handle: z.string().optional(),
    type: z.string().optional(),
    size: z.number().int().optional().openapi({ description: 'In bytes.' }),
    text: z.string().optional().openapi({ description: 'The beginning.' }),
    isCut: z.boolean().optional(),
  })
  .openapi('StoredResult')

export type CallToday = z.infer<typeof todaySchema>
export type StoredResultView = z.infer<typeof resultSchema>

const callParam = strictInput({ id: z.string().max(128) })

const todayRoute = createRoute({
  method: 'get',
  path: '/calls/{id}/today',
  summary: 'What the rules and the mode of now would decide about a recorded call; nothing is called',
  description: 'With the label that its session had then. Limits are not replayed.',
  request: { params: callParam },
  responses: { 200: jsonResponse(todaySchema, 'Both decisions.'), ...PROBLEM_RESPONSES },
})

/** Not a GET: it is recorded, and every page can make a browser send a GET. */
const resultRoute = createRoute({
  method: 'post',
  path: '/calls/{id}/result',
  summary: 'Read the result of a call before it was shortened for its agent, if it is stored; that is recorded',
  request: {
    params: callParam,
    body: { required: true, content: { 'application/json': { schema: strictInput({ via: viaField }) } } },
  },
  responses: { 200: jsonResponse(resultSchema, 'The result, or why it is not shown.'), ...PROBLEM_RESPONSES },
})

export const callReviewRoutes = (context: AdminContext) =>
  createRoutes()
    .openapi(todayRoute, async (c) => {
      const decided = (await findRecords(context, c.req.valid('param').id)).findLast(isDecision)
      if (decided === undefined)
        throw new SallyportError('TRACE_UNKNOWN', 'Nothing was decided about this call: what it asked for is unknown.')
      const { before, outcome: now, reason, ...found } = await context.replayCall(decided)
      const { step, rule } = 'step' in found ? found : {}
      const { mode } = context.mode.current
      return c.json({ before, now, mode, reason, ...(step && { step }), ...(rule && { rule }) }, 200)
    })
    .openapi(resultRoute, async (c) => {
      const records = await findRecords(context, c.req.valid('param').id)
      const found = await readStoredResult(context, records)
      if (found.read !== undefined)
        context.record({ type: 'RESULT_READ', ...found.read, by: callerOf(c.env).user, via: c.req.valid('json').via })
      return c.json(found.view, 200)
    })

type DecisionRecord = Extract<LoggedEvent, { type: 'TOOL_CALL_STARTED' | 'POLICY_DENIED' }>
type EndRecord = Extract<LoggedEvent, { type: 'TOOL_CALL_COMPLETED' | 'TOOL_CALL_FAILED' }>

const isDecision = (record: LoggedEvent): record is DecisionRecord =>
  (record.type === 'TOOL_CALL_STARTED' || record.type === 'POLICY_DENIED') && typeof record.tool_name === 'string'

const isEnd = (record: LoggedEvent): record is EndRecord =>
  record.type === 'TOOL_CALL_COMPLETED' || record.type === 'TOOL_CALL_FAILED'

const MAX_RECORDS = 1_000

async function findRecords({ store }: AdminContext, callId: string): Promise<readonly LoggedEvent[]> {
  const records = await store.find({ callId, limit: MAX_RECORDS })
  if (records.length > 0) return records
  throw new SallyportError('TRACE_UNKNOWN', `No record has the call id ${JSON.stringify(callId)}.`, {
    hint: 'See `sallyport audit` for what was recorded.',
  })
}

/** The largest result that is read to show its beginning. */
const MAX_READ_BYTES = 16 * 1024 * 1024
const MAX_SHOWN_BYTES = 65_536

interface FoundResult {
  readonly view: StoredResultView
  /** What was read of whom, for the record. */
  readonly read?: Pick<CallFacts, 'call_id' | 'trace_id' | 'user' | 'session'> & { readonly handle: string }
}

async function readStoredResult(context: AdminContext, records: readonly LoggedEvent[]): Promise<FoundResult> {
  const end = records.findLast(isEnd)
  const handle = end?.returned?.handle
  if (end === undefined || handle === undefined)
    return { view: { state: end?.type === 'TOOL_CALL_COMPLETED' && end.returned === undefined ? 'whole' : 'none' } }
  const { user, session, call_id, trace_id } = end
  if (isPrivateNow(context, records, { user, session })) return { view: { state: 'private', handle } }
  const store = context.results.storeFor({ user, session })
  const saved = (await store.list()).find((one) => one.handle === handle)
  if (saved === undefined) return { view: { state: 'removed', handle } }
  const about = { handle, type: saved.mimeType, size: saved.size }
  if (saved.size > MAX_READ_BYTES) return { view: { state: 'large', ...about } }
  const bytes = (await store.read(handle))?.bytes
  if (bytes === undefined) return { view: { state: 'removed', handle } }
  const text = decodeText(bytes.subarray(0, MAX_SHOWN_BYTES))
  if (text === undefined) return { view: { state: 'binary', ...about } }
  const view = { state: 'stored' as const, ...about, text, isCut: bytes.length > MAX_SHOWN_BYTES }
  return { view, read: { call_id, trace_id, user, session, handle } }
}

/** A character may be cut at the end. */
function decodeText(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true })
  } catch {
    return undefined
  }
}

/** By the highest label of the session: what it had at the call, and what it has now. */
function isPrivateNow(
  { control, settings }: AdminContext,
  records: readonly LoggedEvent[],
  { user, session }: Pick<CallFacts, 'user' | 'session'>,
): boolean {
  const then = records.flatMap((record): readonly (Sensitivity | undefined)[] => {
    if (isEnd(record)) return [record.label_after]
    if (isDecision(record)) return [record.label_before]
    return record.type === 'SENSITIVITY_RAISED' ? [record.to] : []
  })
  const now = control.list().find((one) => one.user === user && one.session === session)?.sensitivity
  const levels = [...then, now].filter((level) => level !== undefined)
  const highest = levels.reduce((one, other) => higherSensitivity(one, other), LOWEST_SENSITIVITY)
  return isPrivate(highest, settings.labels.privateFrom)
}
