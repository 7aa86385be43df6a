import type { ReplyEnd } from './http-reply.ts'

/**
 * Whether a response says that the server does not know our session any more. The protocol's word for it is 404; servers
 * built after a widespread example say 400 with an error that speaks of the session.
 */
export function isSessionLost(end: ReplyEnd, session: string | undefined): boolean {
  if (session === undefined || end.kind !== 'refused') return false
  if (end.status === 404) return true
  if (end.status !== 400 || end.frame?.envelope.error === undefined) return false
  return /session/i.test(Buffer.concat(end.frame.parts).subarray(0, 2_000).toString('utf8'))
}
