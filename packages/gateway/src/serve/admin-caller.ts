import type { IncomingMessage } from 'node:http'
import { type Principal, SallyportError } from '@sallyport/core'
import type { Logins } from '../sessions/sessions.ts'

/** A browser must say this on every write: no form and no foreign page can. */
const WRITE_HEADER = 'x-sallyport'

const SAFE_METHODS = new Set(['GET', 'HEAD'])
/** `none` is a person who typed the address or opened a bookmark. */
const ALLOWED_FETCH_SITES = new Set([undefined, 'same-origin', 'none'])

/** Who uses the admin plane: the operator, or nobody. Throws FORBIDDEN for everybody else. */
export function authenticateAdmin(
  request: IncomingMessage,
  bearer: Principal | undefined,
  logins: Logins,
): Principal | undefined {
  if (bearer !== undefined) return requireOperatorRole(bearer)
  const principal = logins.verifyCookie(request.headers.cookie)
  if (principal === undefined) return undefined
  refuseCrossSite(request)
  return requireOperatorRole(principal)
}

function requireOperatorRole(principal: Principal): Principal {
  if (principal.role === 'operator') return principal
  throw new SallyportError('FORBIDDEN', 'This token is an agent’s; the admin plane is the operator’s alone.', {
    hint: 'Run `sallyport ui` for a login link, or use the operator’s token.',
  })
}

/** A cookie comes along by itself, so that a request has to show that our own page sent it. */
function refuseCrossSite({ method = 'GET', headers }: IncomingMessage): void {
  const site = headers['sec-fetch-site']
  if (!ALLOWED_FETCH_SITES.has(site as string | undefined) && headers['sec-fetch-mode'] !== 'navigate')
    throw new SallyportError('FORBIDDEN', `Another page sent this request (Sec-Fetch-Site: ${String(site)}).`)
  if (SAFE_METHODS.has(method)) return
  if (headers[WRITE_HEADER] !== '1')
    throw new SallyportError('FORBIDDEN', `A write with the login cookie needs the header ${WRITE_HEADER}: 1.`)
  // The request guard has proven already that an Origin which is there is ours.
  if (headers.origin === undefined)
    throw new SallyportError('FORBIDDEN', 'A write with the login cookie needs an Origin header.')
}
