import { type Era, isJsonObject } from '@sallyport/core'
import { type Frame, parseFrame } from '../../upstream/upstream.ts'

/** The modern era gives this error a status of its own, whoever it comes from. */
const CAPABILITY_MISSING = -32021

/** The HTTP status under which a server's answer goes to its client. */
export function relayedStatus(frame: Frame, to: Era): number {
  if (to === 'legacy' || !frame.envelope.error) return 200
  const { error } = parseFrame(frame)
  return isJsonObject(error) && error.code === CAPABILITY_MISSING ? 400 : 200
}
