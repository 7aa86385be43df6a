import type { IncomingMessage, ServerResponse } from 'node:http'
import { getRequestListener, type HttpBindings } from '@hono/node-server'
import type { Principal } from '@sallyport/core'
import type { AdminContext } from '../admin-context.ts'
import { createApi } from './api.ts'

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
    await listener(request, response)
  }
}
