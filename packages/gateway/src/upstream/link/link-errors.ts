import { formatDuration, MAY_HAVE_RUN_HINT, SallyportError } from '@sallyport/core'
import type { OutgoingCall } from './outgoing-call.ts'

export function timeoutError({ method, limit: own }: OutgoingCall, limit: number): SallyportError {
  const isOwn = own?.timeout === limit
  const setBy = isOwn ? `, which is ${own.setBy}` : ''
  const message = `No answer to ${method} within ${formatDuration(limit)}${setBy}.`
  const hint = `${MAY_HAVE_RUN_HINT} Raise ${isOwn ? 'the limit' : '`timeouts.call` of the server'} if it needs longer.`
  return new SallyportError('UPSTREAM_TIMEOUT', message, { hint })
}

/** The server had received the request. */
export const diedError = (reason: string): SallyportError =>
  new SallyportError('UPSTREAM_DIED', `The server went away before it answered: ${reason}.`, {
    hint: MAY_HAVE_RUN_HINT,
  })

/** The server had received the request, and did not answer in the time that was left for it. */
export const narrowedError = (reason: string): SallyportError =>
  new SallyportError('UPSTREAM_NARROWED', `The server did not answer before it had to end: it ${reason}.`, {
    hint: `${MAY_HAVE_RUN_HINT} If that does no harm, make it again.`,
  })

/** The server did not carry out the request. */
export const sessionExpiredError = (isResent: boolean): SallyportError =>
  new SallyportError(
    'UPSTREAM_GONE',
    isResent
      ? 'The server says again that it does not know its session, although a new one had just begun.'
      : 'The server ended the session.',
    { hint: 'It did not carry out the request. Check the log of the server, and its url.' },
  )

/** The server had not received the request. */
export const goneError = (reason: string): SallyportError =>
  new SallyportError('UPSTREAM_GONE', `The server went away before the request was sent: ${reason}.`)
