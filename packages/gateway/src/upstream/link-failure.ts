import { formatDuration, SallyportError } from '@sallyport/core'
import type { LinkRequest } from './link-request.ts'

export function timedOut({ method, limit: own }: LinkRequest, limit: number): SallyportError {
  const isOwn = own?.timeout === limit
  const setBy = isOwn ? `, which is ${own.setBy}` : ''
  const message = `No answer to ${method} within ${formatDuration(limit)}${setBy}.`
  const hint = `Raise ${isOwn ? 'it' : '`timeouts.call` of the server'} if it needs longer.`
  return new SallyportError('UPSTREAM_TIMEOUT', message, { hint })
}

export const gone = (reason: string): SallyportError =>
  new SallyportError('UPSTREAM_DIED', `The server went away before it answered: ${reason}.`)
