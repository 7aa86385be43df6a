import type { IncomingMessage, ServerResponse } from 'node:http'
import { getRequestListener, type HttpBindings } from '@hono/node-server'
import { type Principal, toOwnerKey } from '@sallyport/core'
import { readBody } from '@sallyport/kit/http-intake'
import type { AdminContext } from '../admin/admin-context.ts'
import { createApi } from './api.ts'
import { API_BODY_LIMIT } from './strict-body.ts'

/** Serves the API over node:http, for callers whose role was already checked. */
export function createApiListener(context: AdminContext) {
  const api = createApi(context)
  const principals = new WeakMap<IncomingMessage, Principal>()
  const listener = getRequestListener(
    (request, env) => api.fetch(request, { principal: principals.get((env as HttpBindings).incoming) }),
    // Programs embed the gateway: do not replace the global Request and Response of the process.
    { overrideGlobalObjects: false, hostname: 'localhost' },
  )
  return async (request: IncomingMessage, response: ServerResponse, principal: Principal): Promise<void> => {
    principals.set(request, principal)
    if (request.method !== 'GET' && request.method !== 'HEAD') await readRequestBody(request, principal, context)
    await listener(request, response)
  }
}

/** Reads the body within the shared budget, which Hono's adapter does not know. The adapter accepts a body that was read already. */
async function readRequestBody(
  request: IncomingMessage,
  principal: Principal,
  { bodies }: AdminContext,
): Promise<void> {
  const bounds = { ...API_BODY_LIMIT, budget: bodies, owner: toOwnerKey(principal) }
  Object.assign(request, { rawBody: await readBody(request, bounds) })
}
