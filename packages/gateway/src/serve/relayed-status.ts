import { type Era, isJsonObject, type Json } from '@sallyport/core'
import type { Frame } from '../upstream/upstream.ts'

/** The modern era gives this error a status of its own, whoever it comes from. */
const CAPABILITY_MISSING = -32021

/** The HTTP status under which a server's answer goes to its client. */
export function relayedStatus({ envelope, parts }: Frame, to: Era): number {
  if (to === 'legacy' || !envelope.error) return 200
  const { error } = JSON.parse(Buffer.concat(parts).toString('utf8')) as { readonly error: Json }
  return isJsonObject(error) && error.code === CAPABILITY_MISSING ? 400 : 200
}
