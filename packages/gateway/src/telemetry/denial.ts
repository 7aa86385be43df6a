import type { Decision, ErrorCode } from '@sallyport/core'
import type { CallEnd } from './call-observer.ts'

/** A server's own rules stopped it, or somebody who was asked: the decision alone does not tell. */
const DENIALS: ReadonlySet<ErrorCode | undefined> = new Set<ErrorCode>([
  'CALL_DENIED',
  'APPROVAL_REQUIRED',
  'APPROVAL_DENIED',
  'APPROVAL_EXPIRED',
])

/** Whether a call ended because it was not allowed. */
export const isDenial = ({ outcome, code }: CallEnd, verdict: Decision['outcome']): boolean =>
  outcome === 'failed' && (verdict === 'deny' || DENIALS.has(code))
