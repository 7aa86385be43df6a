import type { IncomingMessage, ServerResponse } from 'node:http'
import { type BodyBudget, readBody } from '@sallyport/kit/http-intake'
import type { ApprovalContext } from './admin-context.ts'

const ANSWER_PATH = /^\/api\/approvals\/([0-9a-zA-Z_-]{1,64})\/answer$/
const MAX_BODY_BYTES = 16_384

/** The request for approval that a web hook answers at this path, if it is one for that. */
export const parseAnswerPath = (path: string): string | undefined => ANSWER_PATH.exec(path)?.[1]

export interface HookAnswerRequest {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly id: string
  readonly hook: ApprovalContext['hook']
  readonly bodies: BodyBudget
}

/** The one write without a token: the signature of the body is the credential. */
export async function serveHookAnswer({ request, response, id, hook, bodies }: HookAnswerRequest): Promise<void> {
  const hint = 'Send the decision and a reason alone.'
  const body = await readBody(request, { limit: MAX_BODY_BYTES, hint, budget: bodies, owner: 'anybody' })
  const { notMade } = await hook.acceptAnswer(id, { headers: request.headers, body })
  if (notMade === undefined) response.writeHead(204).end()
  else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ not_made: notMade }))
}
