import { createRoute, z } from '@hono/zod-openapi'
import { Cancellation, type JsonObject, type Principal, parseTraceId, type SallyportError } from '@sallyport/core'
import type { Context, TypedResponse } from 'hono'
import type { ClientErrorStatusCode } from 'hono/utils/http-status'
import type { Call } from '../../pipeline/pipeline.ts'
import { isPrintableName } from '../../sessions/sessions.ts'
import type { Frame } from '../../upstream/upstream.ts'
import type { AdminContext } from '../admin/admin-context.ts'
import { toProblem } from '../problem.ts'
import { decisionSchema, decisionView } from './decision-view.ts'
import { findTool } from './find-tool.ts'
import { strictInput } from './invalid-input.ts'
import { looseObject } from './loose-object.ts'
import { type ApiEnv, callerOf, createRoutes, jsonResponse, problemSchema } from './routes.ts'

/** The same rule as for the claims of a token, because the value is recorded. */
const claimSchema = z.string().min(1).max(256).refine(isPrintableName, 'expected printable text')

const callBody = strictInput({
  tool: z.string().min(1).max(500).openapi({ description: 'Any form of its name.' }),
  arguments: looseObject.optional(),
  dryRun: z.boolean().optional().openapi({ description: 'Only decide: do not call the tool.' }),
  as: strictInput({ agent: claimSchema, profile: claimSchema.optional() })
    .optional()
    .openapi({ description: 'Call as this agent would.' }),
})

const callSchema = decisionSchema
  .extend({
    call_id: z.string().openapi({ description: 'The id in the records; a dry run is not recorded.' }),
    trace_id: z.string(),
    result: looseObject.optional().openapi({ description: 'The result of the tool; it may have `isError`.' }),
    rpc_error: looseObject.optional().openapi({ description: 'The JSON-RPC error that the server returned instead.' }),
  })
  .openapi('CallAnswer')

/** Includes the decision if there was one, even if the call failed. */
const callProblemSchema = callSchema.partial().extend(problemSchema.shape).openapi('CallProblem')

export type CallAnswer = z.infer<typeof callSchema>
export type CallProblem = z.infer<typeof callProblemSchema>

const postCall = createRoute({
  method: 'post',
  path: '/call',
  summary: 'Call a tool through the same pipeline as any agent',
  request: { body: { required: true, content: { 'application/json': { schema: callBody } } } },
  responses: {
    200: jsonResponse(callSchema, 'The server’s answer; for a dry run only the decision.'),
    '4XX': jsonResponse(callProblemSchema, 'The call was not acceptable, or was refused.'),
    '5XX': jsonResponse(callProblemSchema, 'The server could not answer.'),
  },
})

export const callRoutes = (context: AdminContext) =>
  createRoutes().openapi(postCall, async (c) => {
    const call = await buildCall(context, c, c.req.valid('json'))
    const decided = { call_id: call.id, trace_id: call.traceId, ...decisionView(await context.pipeline.decide(call)) }
    if (c.req.valid('json').dryRun) return c.json(decided, 200)
    const answer = await context.pipeline.run(call)
    return answer.kind === 'failure'
      ? c.json(...failureResponse(decided, answer.error))
      : answerResponse(decided, answer.frame)
  })

async function buildCall(context: AdminContext, c: Context<ApiEnv>, input: z.infer<typeof callBody>): Promise<Call> {
  const offer = await findTool(context, input.tool)
  return {
    id: context.ids.callId(),
    traceId: parseTraceId(c.req.header('traceparent')) ?? context.ids.traceId(),
    principal: impersonate(context.renewSession(callerOf(c.env)), input.as),
    method: 'tools/call',
    offer,
    params: { name: offer.name, arguments: (input.arguments ?? {}) as JsonObject },
    cancellation: cancelOnAbort(c.req.raw.signal),
  }
}

/** When impersonating an agent, the operator has only the rights of that agent. */
function impersonate(operator: Principal, as: z.infer<typeof callBody>['as']): Principal {
  if (!as) return operator
  return { ...operator, agent: as.agent, profile: as.profile ?? 'default', role: 'agent' }
}

function cancelOnAbort(signal: AbortSignal): Cancellation {
  const cancellation = new Cancellation()
  const cancel = (): void => cancellation.cancel('the client closed the connection')
  if (signal.aborted) cancel()
  else signal.addEventListener('abort', cancel, { once: true })
  return cancellation
}

/** The status may also be 5XX, as the route declares; the type allows only one range. */
function failureResponse(decided: CallAnswer, error: SallyportError): [CallProblem, ClientErrorStatusCode] {
  return [{ ...decided, ...toProblem(error) }, error.kind.http as ClientErrorStatusCode]
}

/** Copies the server's bytes into the answer: parsing and printing them again would change large numbers. */
function answerResponse(
  decided: CallAnswer,
  { parts, envelope }: Frame,
): Response & TypedResponse<CallAnswer, 200, 'json'> {
  const { start, end } = envelope.result ?? envelope.error ?? { start: 0, end: 0 }
  const payload = Buffer.concat(parts).subarray(start, end)
  const head = `${JSON.stringify(decided).slice(0, -1)},"${envelope.result ? 'result' : 'rpc_error'}":`
  const body = Buffer.concat([Buffer.from(head), payload, Buffer.from('}')])
  return new Response(body, { headers: { 'content-type': 'application/json' } }) as never
}
