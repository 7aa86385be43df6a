import type { JsonObject } from '@sallyport/core'
import { isPrintableName } from './claim-text.ts'
import { type JwtRefusal, refuseClaim } from './jwt-refusal.ts'

export interface TokenOwner {
  readonly userId: string
  readonly sessionId: string
}

/**
 * For whom the claims of a verified token speak. A claim that is there but no usable text refuses the token: the
 * default would widen what its issuer meant.
 */
export function readTokenOwner(claims: JsonObject, issuers: readonly string[]): TokenOwner | JwtRefusal {
  const { iss, sub } = claims
  // What one issuer calls "ada" is not who another calls so.
  const userId = issuers.length > 1 ? `${iss}#${sub}` : sub
  if (!isPrintableName(sub) || !isPrintableName(userId)) return refuseClaim('sub')
  const sessionId = Object.hasOwn(claims, 'session_id') ? claims.session_id : `jwt:${userId}`
  return isPrintableName(sessionId) ? { userId, sessionId } : refuseClaim('session_id')
}
