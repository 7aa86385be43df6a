/** Why a token is refused. The text never contains any part of the token. */
export interface JwtRefusal {
  readonly problem: string
  /** `final`: this token can never pass. `for-now`: it may pass later. `unverifiable`: the keys could not be fetched. */
  readonly certainty: 'final' | 'for-now' | 'unverifiable'
  readonly cause?: unknown
}

export const refusePermanently = (problem: string): JwtRefusal => ({ problem, certainty: 'final' })
export const refuseTemporarily = (problem: string): JwtRefusal => ({ problem, certainty: 'for-now' })

const KNOWN_CLAIMS = new Set([
  ...['iss', 'sub', 'aud', 'exp', 'nbf', 'iat', 'jti', 'agent', 'profile', 'session_id'],
  ...['session', 'permissions', 'label', 'private', 'shapes', 'connect', 'purge'],
])

/** The claim is named only if we know it: any other name is text from the token. */
export const refuseClaim = (claim: string): JwtRefusal =>
  refusePermanently(`The token's claim ${KNOWN_CLAIMS.has(claim) ? `${claim} ` : ''}is missing or not accepted here`)
