import { type Era, isJsonObject } from '@sallyport/core'
import { type Frame, parseFrame } from '../../upstream/upstream.ts'

/** The modern era defines an HTTP status for this error, also if a server sent it. */
const CAPABILITY_MISSING = -32021

/** The HTTP status for a server's answer. */
export function relayedStatus(frame: Frame, to: Era): number {
  if (to === 'legacy' || !frame.envelope.error) return 200
  const { error } = parseFrame(frame)
  return isJsonObject(error) && error.code === CAPABILITY_MISSING ? 400 : 200
}
