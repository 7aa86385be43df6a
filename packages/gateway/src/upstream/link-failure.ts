import { formatDuration, MAY_HAVE_RUN_HINT, SallyportError } from '@sallyport/core'
import type { OutgoingCall } from './outgoing-call.ts'

export function timeoutError({ method, limit: own }: OutgoingCall, limit: number): SallyportError {
  const isOwn = own?.timeout === limit
  const setBy = isOwn ? `, which is ${own.setBy}` : ''
  const message = `No answer to ${method} within ${formatDuration(limit)}${setBy}.`
  const hint = `${MAY_HAVE_RUN_HINT} Raise ${isOwn ? 'the limit' : '`timeouts.call` of the server'} if it needs longer.`
  return new SallyportError('UPSTREAM_TIMEOUT', message, { hint })
}

/** It had the request. */
export const diedError = (reason: string): SallyportError =>
  new SallyportError('UPSTREAM_DIED', `The server went away before it answered: ${reason}.`, {
    hint: MAY_HAVE_RUN_HINT,
  })

/** It was not sent anything. */
export const goneError = (reason: string): SallyportError =>
  new SallyportError('UPSTREAM_GONE', `The server went away before the request was sent: ${reason}.`)
