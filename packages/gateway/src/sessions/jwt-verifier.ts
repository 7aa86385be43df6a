import { type Principal, SallyportError } from '@sallyport/core'
import type { FlattenedJWSInput, JWSHeaderParameters, JWTPayload, JWTVerifyOptions } from 'jose'
import type { JwtSettings } from '../config/config.ts'
import { isClaimText } from './claim-text.ts'
import type { Credential } from './credential.ts'
import { RemoteKeys } from './remote-keys.ts'

type Jose = typeof import('jose')

/** Why a token does not count. The words are ours and never hold anything of the token. */
export interface JwtRefusal {
  readonly problem: string
  /** `final`: this token can never pass. `for-now`: it may pass later. `unverifiable`: the keys could not be had. */
  readonly certainty: 'final' | 'for-now' | 'unverifiable'
  readonly cause?: unknown
}

export interface JwtVerifier {
  verify(token: string): Promise<Credential | JwtRefusal>
}

export interface JwtVerifierOptions {
  readonly now?: () => number
}

export const MAX_JWT_LENGTH = 8192

const COMPACT = /^[\w-]+\.[\w-]+\.[\w-]+$/
/** A token made for another purpose (a logout, a DPoP proof) says so here; it is no access token (RFC 8725, 3.11). */
const ACCEPTED_TYPES = new Set(['jwt', 'at+jwt', 'application/jwt', 'application/at+jwt'])

/** Verifies bearer JWTs by `auth.jwt`, which was judged when it was read. */
export function createJwtVerifier(settings: JwtSettings, options: JwtVerifierOptions = {}): JwtVerifier {
  const now = options.now ?? Date.now
  let opened: Promise<OpenVerifier> | undefined
  return {
    async verify(token) {
      if (token.length > MAX_JWT_LENGTH) return final(`The token is longer than ${MAX_JWT_LENGTH} characters`)
      if (!COMPACT.test(token)) return final('The token is not a signed JWT')
      opened ??= openVerifier(settings, now)
      return judge(await opened, { token, settings, now })
    },
  }
}

interface OpenVerifier {
  readonly jose: Jose
  readonly verify: (token: string, options: JWTVerifyOptions) => ReturnType<Jose['jwtVerify']>
}

/** jose is loaded with the first token: a gateway without JWTs never pays for it. */
async function openVerifier({ secret, jwksUri }: JwtSettings, now: () => number): Promise<OpenVerifier> {
  const jose = await import('jose')
  const shared = secret === undefined ? undefined : new TextEncoder().encode(secret)
  const published = jwksUri === undefined ? undefined : new RemoteKeys(jose, { url: jwksUri, now })
  /** By the family of the algorithm alone: a key of one must never verify a token of the other (RFC 8725, 2.1). */
  const keyFor = async (header: JWSHeaderParameters, jws: FlattenedJWSInput) => {
    const key = header.alg?.startsWith('HS') ? shared : await published?.find(header, jws)
    if (key === undefined) throw new jose.errors.JOSEAlgNotAllowed('no key is configured for this algorithm')
    return key
  }
  return { jose, verify: (token, options) => jose.jwtVerify(token, keyFor, options) }
}

interface Question {
  readonly token: string
  readonly settings: JwtSettings
  readonly now: () => number
}

async function judge({ jose, verify }: OpenVerifier, question: Question): Promise<Credential | JwtRefusal> {
  const { settings, token, now } = question
  try {
    const { payload, protectedHeader } = await verify(token, verifyOptions(settings, now()))
    if (protectedHeader.typ !== undefined && !ACCEPTED_TYPES.has(protectedHeader.typ.toLowerCase()))
      return final('The token was made for another purpose')
    if (settings.audience.length === 0 && payload.aud !== undefined) return final(claimProblem('aud'))
    return toCredential(payload, settings)
  } catch (error) {
    return toRefusal(error, jose)
  }
}

function verifyOptions(settings: JwtSettings, now: number): JWTVerifyOptions {
  return {
    algorithms: [...settings.algorithms],
    clockTolerance: settings.toleranceSeconds,
    currentDate: new Date(now),
    requiredClaims: ['exp', 'sub'],
    ...(settings.issuers.length > 0 ? { issuer: [...settings.issuers] } : {}),
    ...(settings.audience.length > 0 ? { audience: [...settings.audience] } : {}),
  }
}

/** A claim that is there but no usable text refuses the token: the default would widen what its issuer meant. */
function toCredential(payload: JWTPayload, { issuers, toleranceSeconds }: JwtSettings): Credential | JwtRefusal {
  const { iss, sub, exp, agent = 'any', profile = 'default' } = payload
  // What one issuer calls "ada" is not who another calls so.
  const user = issuers.length > 1 ? `${iss}#${sub}` : sub
  const { session_id: session = `jwt:${user}` } = payload
  if (!isClaimText(sub) || !isClaimText(user)) return final(claimProblem('sub'))
  if (!isClaimText(agent)) return final(claimProblem('agent'))
  if (!isClaimText(profile)) return final(claimProblem('profile'))
  if (!isClaimText(session)) return final(claimProblem('session_id'))
  const principal: Principal = Object.freeze({ user, agent, profile, session, role: 'agent' })
  return { principal, expiresAt: ((exp ?? 0) + toleranceSeconds) * 1_000 }
}

function toRefusal(error: unknown, { errors }: Jose): JwtRefusal {
  if (error instanceof SallyportError)
    return { problem: 'The token cannot be verified at the moment', certainty: 'unverifiable', cause: error }
  if (error instanceof errors.JWTExpired) return final('The token has expired')
  if (error instanceof errors.JWTClaimValidationFailed) return claimRefusal(error.claim)
  if (error instanceof errors.JWKSNoMatchingKey) return forNow('The token is signed with an unknown key')
  if (error instanceof errors.JWKSMultipleMatchingKeys)
    return final('The token does not say with which of several keys it is signed')
  if (error instanceof errors.JOSEAlgNotAllowed) return final('The token is signed with an algorithm not accepted here')
  if (error instanceof errors.JWSSignatureVerificationFailed) return final("The token's signature does not verify")
  if (error instanceof errors.JOSEError) return final('The token is not a valid signed JWT')
  return { ...forNow('The token could not be verified'), cause: error }
}

const claimRefusal = (claim: string): JwtRefusal =>
  claim === 'nbf' ? forNow('The token is not valid yet') : final(claimProblem(claim))

const KNOWN_CLAIMS = new Set(['iss', 'sub', 'aud', 'exp', 'nbf', 'iat', 'agent', 'profile', 'session_id'])

const claimProblem = (claim: string): string =>
  `The token's claim ${KNOWN_CLAIMS.has(claim) ? `${claim} ` : ''}is missing or not accepted here`

const final = (problem: string): JwtRefusal => ({ problem, certainty: 'final' })
const forNow = (problem: string): JwtRefusal => ({ problem, certainty: 'for-now' })
