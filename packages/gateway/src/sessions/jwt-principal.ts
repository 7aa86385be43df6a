import type { Principal } from '@sallyport/core'
import {
  createJwtVerifier,
  isPrintableName,
  type JwtRefusal,
  type JwtVerifierOptions,
  readTokenOwner,
  refuseClaim,
  type VerifiedToken,
} from '@sallyport/kit/identity'
import type { JwtSettings } from '../config/config.ts'
import type { Credential } from './credential.ts'
import { STANDING_SESSIONS } from './standing-token.ts'

/** Verifies a bearer JWT by `auth.jwt` and returns its principal. */
export interface PrincipalVerifier {
  verify(token: string): Promise<Credential | JwtRefusal>
}

const KEYS_HINT =
  'Check that auth.jwt.jwks_uri is right and that the issuer can be reached; the next request tries again.'

export function createPrincipalVerifier(settings: JwtSettings, options: JwtVerifierOptions = {}): PrincipalVerifier {
  const verifier = createJwtVerifier(settings, { keysHint: KEYS_HINT, ...options })
  return {
    async verify(token) {
      const verified = await verifier.verify(token)
      return 'problem' in verified ? verified : toCredential(verified, settings)
    },
  }
}

function toCredential({ claims, expiresAt }: VerifiedToken, { issuers }: JwtSettings): Credential | JwtRefusal {
  const owner = readTokenOwner(claims, issuers)
  if ('problem' in owner) return owner
  const { agent = 'any', profile = 'default' } = claims
  if (!isPrintableName(agent)) return refuseClaim('agent')
  if (!isPrintableName(profile)) return refuseClaim('profile')
  const { userId: user, sessionId } = owner
  const principal: Principal = Object.freeze({ user, agent, profile, session: ownName(sessionId), role: 'agent' })
  return { principal, expiresAt }
}

/** Names that the gateway gives to sessions itself, and those that are made of them below. */
const RESERVED = new RegExp(`^(?:${Object.values(STANDING_SESSIONS).join('|')})~*$|^token:|~\\d+~*$`)

/**
 * An issuer may choose any name. One of the gateway's own gets a "~", so that the session is not that of a local token,
 * nor the one after a session that was ended (`x~2`). No two names become the same one.
 */
const ownName = (session: string): string => (RESERVED.test(session) ? `${session}~` : session)
