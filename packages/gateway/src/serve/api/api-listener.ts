import type { IncomingMessage, ServerResponse } from 'node:http'
import { getRequestListener, type HttpBindings } from '@hono/node-server'
import { type Principal, toOwnerKey } from '@sallyport/core'
import { readBody } from '@sallyport/kit/http-intake'
import type { AdminContext } from '../admin/admin-context.ts'
import { createApi } from './api.ts'
import { API_BODY_LIMIT } from './strict-body.ts'

/** Carries the API over node:http, for callers whose role has been judged. */
export function createApiListener(context: AdminContext) {
  const api = createApi(context)
  const principals = new WeakMap<IncomingMessage, Principal>()
  const listener = getRequestListener(
    (request, env) => api.fetch(request, { principal: principals.get((env as HttpBindings).incoming) }),
    // Request and Response of the whole process are not ours to replace: programs embed the gateway.
    { overrideGlobalObjects: false, hostname: 'localhost' },
  )
  return async (request: IncomingMessage, response: ServerResponse, principal: Principal): Promise<void> => {
    principals.set(request, principal)
    if (request.method !== 'GET' && request.method !== 'HEAD') await readRequestBody(request, principal, context)
    await listener(request, response)
  }
}

/** Within the bounds of all bodies, which Hono's adapter does not know; it takes one that was read already. */
async function readRequestBody(
  request: IncomingMessage,
  principal: Principal,
  { bodies }: AdminContext,
): Promise<void> {
  const bounds = { ...API_BODY_LIMIT, budget: bodies, owner: toOwnerKey(principal) }
  Object.assign(request, { rawBody: await readBody(request, bounds) })
}
