import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import { Cancellation, canonicalName, didYouMean, type JsonObject, SallyportError } from '@sallyport/core'
import type { Context } from 'hono'
import { HTTPException } from 'hono/http-exception'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { Offer } from '../../catalog/catalog.ts'
import { isPrintableName } from '../../sessions/sessions.ts'
import type { AdminContext } from '../admin/admin-context.ts'
import { toProblem } from '../problem.ts'
import { checkAccess } from './access.ts'
import { approvalRoutes } from './approvals.ts'
import { callRoutes } from './call.ts'
import { callReviewRoutes } from './call-review.ts'
import { decisionSchema, decisionView } from './decision-view.ts'
import { eventRoutes } from './events.ts'
import { explainRoutes } from './explain.ts'
import { invalidInput, strictInput } from './invalid-input.ts'
import { overviewRoutes } from './live/overview.ts'
import { streamRoutes } from './live/stream.ts'
import { looseObject } from './loose-object.ts'
import { modeRoutes } from './mode.ts'
import { offerRoutes } from './offers.ts'
import { documentRoutes } from './openapi-document.ts'
import { profileRoutes } from './profiles.ts'
import { type ApiEnv, callerOf, createRoutes, jsonResponse, PROBLEM_RESPONSES } from './routes.ts'
import { sandboxRoutes } from './sandboxes.ts'
import { savingsRoutes } from './savings/savings.ts'
import { savingsHistoryRoutes } from './savings/savings-history.ts'
import { serverRoutes } from './servers.ts'
import { sessionRoutes } from './sessions.ts'
import { agentSetupRoutes } from './setup/agent-setup.ts'
import { serverChangeRoutes } from './setup/server-changes.ts'
import { serverEntryRoutes } from './setup/server-entry.ts'
import { serverHealthRoutes } from './setup/server-health.ts'
import { statusRoutes } from './status.ts'
import { strictBody } from './strict-body.ts'
import { tokenRoutes } from './tokens.ts'
import { toolRoutes } from './tools.ts'
import { toolsEditRoutes } from './tools-edit.ts'
import { toolsFileRoutes } from './tools-file.ts'
import { useRoutes } from './uses.ts'

export type { AnsweredApproval, ShownApproval as ApprovalView } from './approvals.ts'
export type { CallAnswer, CallProblem } from './call.ts'
export type { CallToday, StoredResultView } from './call-review.ts'
export { EVENT_TYPES } from './event-query.ts'
export type { EventView } from './events.ts'
export type { Explanation } from './explain.ts'
export type { LiveMessages } from './live/live-stream.ts'
export type { Me, Overview } from './live/overview.ts'
export type { ChangedMode, ModeView } from './mode.ts'
export type { OfferDetail, OfferView } from './offers.ts'
export type { SandboxedServerView, SandboxListView } from './sandboxes.ts'
export type { Savings, SavingsBy } from './savings/savings.ts'
export type { SavingsHistory } from './savings/savings-history.ts'
export type { ServerView } from './servers.ts'
export type { EndedSessionView, SessionLimits, SessionView } from './sessions.ts'
export type { AgentConnection, AgentFiles, FoundAgents } from './setup/agent-setup.ts'
export type { ConfigPreviewView, ServerChangeInput } from './setup/server-changes.ts'
export type { ServerEntryView } from './setup/server-entry.ts'
export type { ServerHealth } from './setup/server-health.ts'
export type { Status } from './status.ts'
export type { TokenView } from './tokens.ts'
export type { ToolDetail, ToolView } from './tools.ts'
export type { ToolsFileEntries, ToolsFilePreview } from './tools-edit.ts'
export type { RuledTool, ToolsFileView } from './tools-file.ts'

/** For `hc<Api>`: every path with its input and output types. */
export type Api = ReturnType<typeof createApi>

/** The API as a function from Request to Response. The binding `principal` is the caller. */
export function createApi(context: AdminContext) {
  const app = new OpenAPIHono<ApiEnv>({
    defaultHook: (result) => {
      if (!result.success) throw invalidInput(result.target, result.error)
    },
  })
  app.use(checkAccess)
  app.use(strictBody)
  app.onError((error, c) => errorResponse(error, c, context))
  app.notFound((c) => errorResponse(unknownRoute(c.req.method, c.req.path, listRoutes(app)), c, context))
  return app
    .route('/api', statusRoutes(context))
    .route('/api', serverRoutes(context))
    .route('/api', sandboxRoutes(context))
    .route('/api', serverChangeRoutes(context))
    .route('/api', serverEntryRoutes(context))
    .route('/api', serverHealthRoutes(context))
    .route('/api', agentSetupRoutes(context))
    .route('/api', toolRoutes(context))
    .route('/api', offerRoutes(context))
    .route('/api', toolsFileRoutes(context))
    .route('/api', toolsEditRoutes(context))
    .route('/api', profileRoutes(context))
    .route('/api', useRoutes(context))
    .route('/api', callRoutes(context))
    .route('/api', verdictRoutes(context))
    .route('/api', eventRoutes(context))
    .route('/api', explainRoutes(context))
    .route('/api', callReviewRoutes(context))
    .route('/api', savingsRoutes(context))
    .route('/api', savingsHistoryRoutes(context))
    .route('/api', tokenRoutes(context))
    .route('/api', sessionRoutes(context))
    .route('/api', modeRoutes(context))
    .route('/api', approvalRoutes(context))
    .route('/api', loginLinkRoutes(context))
    .route('/api', overviewRoutes(context))
    .route('/api', streamRoutes(context))
    .route('/api', documentRoutes(app, context.version))
}

const listRoutes = (app: OpenAPIHono<ApiEnv>) => app.routes.filter(({ method }) => method !== 'ALL')

function errorResponse(error: unknown, c: Context<ApiEnv>, { ids }: AdminContext): Response {
  const known = toExpectedError(error) ?? reportBug(error, `${c.req.method} ${c.req.path}`, ids.callId())
  return c.json(toProblem(known), known.kind.http as ContentfulStatusCode)
}

function toExpectedError(error: unknown): SallyportError | undefined {
  if (error instanceof SallyportError) return error
  // The validators of the router throw their own exception.
  if (error instanceof HTTPException && error.status < 500)
    return new SallyportError('INVALID_REQUEST', `${error.message}.`, { cause: error })
  return undefined
}

function reportBug(error: unknown, where: string, incident: string): SallyportError {
  const details = error instanceof Error ? error.stack : String(error)
  process.stderr.write(`sallyport: incident ${incident} in ${where}: ${details}\n`)
  return new SallyportError('INTERNAL', `Something broke inside the gateway (incident ${incident}).`, { cause: error })
}

const mintLoginLink = createRoute({
  method: 'post',
  path: '/login-links',
  summary: 'A link that logs a browser in, once, within ten minutes',
  responses: {
    201: jsonResponse(z.object({ path: z.string() }), 'The path; append it to a URL of the gateway.'),
    ...PROBLEM_RESPONSES,
  },
})

const loginLinkRoutes = ({ logins }: AdminContext) =>
  createRoutes().openapi(mintLoginLink, (c) => c.json({ path: `/login?token=${logins.mintLoginCode()}` }, 201))

interface KnownRoute {
  readonly method: string
  /** In the router's notation: `/api/servers/:id`. */
  readonly path: string
}

/** Either the path does not accept this verb, or there is no such path. */
function unknownRoute(method: string, path: string, known: readonly KnownRoute[]): SallyportError {
  const verbs = known.filter((route) => toPattern(route.path).test(path)).map((route) => route.method)
  if (verbs.length > 0)
    return new SallyportError('VERB_REFUSED', `${path} takes ${[...new Set(verbs)].join(' or ')}, not ${method}.`)
  const shown = path.slice(0, 200)
  const paths = new Set(known.map((route) => route.path))
  return new SallyportError('ROUTE_UNKNOWN', `There is no ${JSON.stringify(shown)}.${didYouMean(shown, paths)}`, {
    hint: 'All routes are described at /api/openapi.json.',
  })
}

/** The paths are our own, so it is safe to turn them into regular expressions. */
const toPattern = (path: string): RegExp => new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/:\w+/g, '[^/]+')}$`)

const claimSchema = z.string().min(1).max(256).refine(isPrintableName, 'expected printable text')

const verdictBody = strictInput({
  agent: claimSchema.openapi({
    description: 'The agent that has the tool, such as claude-code; tools.yaml uses this as the server name.',
  }),
  tool: claimSchema.openapi({ description: 'The agent’s own name for it, such as Bash.' }),
  arguments: looseObject.optional(),
})

const postVerdict = createRoute({
  method: 'post',
  path: '/verdict',
  summary: 'Decide about a call of an agent’s built-in tool',
  description: 'Decided by the entries of tools.yaml for `<agent>/<tool>` and by the mode. A refusal is recorded.',
  request: { body: { required: true, content: { 'application/json': { schema: verdictBody } } } },
  responses: { 200: jsonResponse(decisionSchema, 'What the agent should do with the call.') },
})

const verdictRoutes = (context: AdminContext) =>
  createRoutes().openapi(postVerdict, async (c) => {
    const { agent, tool, arguments: args } = c.req.valid('json')
    const decision = await context.pipeline.decideAndRecord({
      id: context.ids.callId(),
      traceId: context.ids.traceId(),
      principal: { ...callerOf(c.env), agent, profile: 'default', role: 'agent' },
      method: 'tools/call',
      offer: builtInOffer(agent, tool),
      params: { name: tool, arguments: (args ?? {}) as JsonObject },
      cancellation: new Cancellation(),
    })
    return c.json(decisionView(decision), 200)
  })

/** No server defined this tool: only entries of tools.yaml describe its arguments. */
function builtInOffer(agent: string, tool: string): Offer {
  const definition = { name: tool, inputSchema: { type: 'object' } }
  const recordName = canonicalName({ server: agent, tool })
  return {
    kind: 'tool',
    server: agent,
    name: tool,
    wire: tool,
    recordName,
    original: definition,
    definition,
    isMcp: false,
  }
}
