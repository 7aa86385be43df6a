import { OpenAPIHono } from '@hono/zod-openapi'
import { SallyportError } from '@sallyport/core'
import type { Context } from 'hono'
import { HTTPException } from 'hono/http-exception'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { AdminContext } from '../admin-context.ts'
import { toProblem } from '../problem.ts'
import { approvalRoutes } from './approvals.ts'
import { callRoutes } from './call.ts'
import { eventRoutes } from './events.ts'
import { explainRoutes } from './explain.ts'
import { invalidInput } from './invalid-input.ts'
import { loginLinkRoutes } from './login-links.ts'
import { modeRoutes } from './mode.ts'
import { offerRoutes } from './offers.ts'
import { documentRoutes } from './openapi-document.ts'
import { profileRoutes } from './profiles.ts'
import { type ApiEnv, requireOperator } from './routes.ts'
import { savingsRoutes } from './savings.ts'
import { serverRoutes } from './servers.ts'
import { statusRoutes } from './status.ts'
import { strictBody } from './strict-body.ts'
import { tokenRoutes } from './tokens.ts'
import { toolRoutes } from './tools.ts'
import { toolsFileRoutes } from './tools-file.ts'
import { unknownRoute } from './unknown-route.ts'
import { verdictRoutes } from './verdict.ts'

export type { ApprovalView } from '../../governance/governance.ts'
export type { AnsweredApproval } from './approvals.ts'
export type { CallAnswer, CallProblem } from './call.ts'
export { EVENT_TYPES } from './event-query.ts'
export type { EventView } from './events.ts'
export type { Explanation } from './explain.ts'
export type { ChangedMode, ModeView } from './mode.ts'
export type { OfferDetail, OfferView } from './offers.ts'
export type { Savings, SavingsBy } from './savings.ts'
export type { ServerView } from './server-view.ts'
export type { Status } from './status.ts'
export type { TokenView } from './tokens.ts'
export type { ToolDetail, ToolView } from './tool-view.ts'
export type { ToolsFileView } from './tools-file.ts'

/** For `hc<Api>`: every path, what it takes and what it answers. */
export type Api = ReturnType<typeof createApi>

/** The API as a function from Request to Response. `principal` of its bindings is who asks. */
export function createApi(context: AdminContext) {
  const app = new OpenAPIHono<ApiEnv>({
    defaultHook: (result) => {
      if (!result.success) throw invalidInput(result.target, result.error)
    },
  })
  app.use(async (c, next) => {
    requireOperator(c.env)
    await next()
  })
  app.use(strictBody)
  app.onError((error, c) => errorResponse(error, c, context))
  app.notFound((c) => errorResponse(unknownRoute(c.req.method, c.req.path, listRoutes(app)), c, context))
  return app
    .route('/api', statusRoutes(context))
    .route('/api', serverRoutes(context))
    .route('/api', toolRoutes(context))
    .route('/api', offerRoutes(context))
    .route('/api', toolsFileRoutes(context))
    .route('/api', profileRoutes(context))
    .route('/api', callRoutes(context))
    .route('/api', verdictRoutes(context))
    .route('/api', eventRoutes(context))
    .route('/api', explainRoutes(context))
    .route('/api', savingsRoutes(context))
    .route('/api', tokenRoutes(context))
    .route('/api', modeRoutes(context))
    .route('/api', approvalRoutes(context))
    .route('/api', loginLinkRoutes(context))
    .route('/api', documentRoutes(app, context.version))
}

const listRoutes = (app: OpenAPIHono<ApiEnv>) => app.routes.filter(({ method }) => method !== 'ALL')

function errorResponse(error: unknown, c: Context<ApiEnv>, { ids }: AdminContext): Response {
  const known = toExpectedError(error) ?? reportBug(error, `${c.req.method} ${c.req.path}`, ids.callId())
  return c.json(toProblem(known), known.kind.http as ContentfulStatusCode)
}

function toExpectedError(error: unknown): SallyportError | undefined {
  if (error instanceof SallyportError) return error
  // The validators of the router say it in their own way.
  if (error instanceof HTTPException && error.status < 500)
    return new SallyportError('INVALID_REQUEST', `${error.message}.`, { cause: error })
  return undefined
}

function reportBug(error: unknown, where: string, incident: string): SallyportError {
  const told = error instanceof Error ? error.stack : String(error)
  process.stderr.write(`sallyport: incident ${incident} in ${where}: ${told}\n`)
  return new SallyportError('INTERNAL', `Something broke inside the gateway (incident ${incident}).`, { cause: error })
}
