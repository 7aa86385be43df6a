import type { KeyObject } from 'node:crypto'
import { hasDuplicateKey, type JsonObject, SallyportError } from '@sallyport/core'
import type {
  FlattenedJWSInput,
  JSONWebKeySet,
  JWSHeaderParameters,
  JWTPayload,
  JWTVerifyOptions,
  JWTVerifyResult,
} from 'jose'
import { type JwtRefusal, refuseClaim, refusePermanently, refuseTemporarily } from './jwt-refusal.ts'
import { RemoteKeys } from './remote-keys.ts'

type Jose = typeof import('jose')

/** How tokens are verified. These settings were validated when they were read. */
export interface JwtSettings {
  readonly issuers: readonly string[]
  readonly audience: readonly string[]
  /** HS* need the secret, all others the public keys. */
  readonly algorithms: readonly string[]
  readonly secret: string | undefined
  readonly jwksUri: string | undefined
  readonly publicKey?: KeyObject | undefined
  /** Pinned public keys. */
  readonly keySet?: JSONWebKeySet | undefined
  /** The only `typ` of tokens for one purpose. Such a token must be short-lived, and must name its key. */
  readonly type?: string | undefined
  /** Clock tolerance in seconds. */
  readonly toleranceSeconds: number
  /** How long after its `iat` a token is accepted, whatever its `exp` says. If missing, `exp` alone counts. */
  readonly maxAgeSeconds?: number | undefined
}

/** The claims of a token with a valid signature, lifetime and audience. */
export interface VerifiedToken {
  readonly claims: JsonObject
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

export interface JwtVerifier {
  verify(token: string): Promise<VerifiedToken | JwtRefusal>
}

/** The clock and the hints of a verifier. */
export interface JwtVerifierOptions {
  readonly now?: () => number
  /** What the operator can do when the keys cannot be fetched. */
  readonly keysHint?: string
}

/** The maximum length of a token in characters. */
export const MAX_JWT_LENGTH = 8192

const KEYS_HINT = 'Check that jwksUri is right and that the issuer can be reached; the next request retries.'
const COMPACT_JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/
/** The `typ` of an access token: tokens for another purpose (a logout, a DPoP proof) have another one (RFC 8725, 3.11). */
const ACCEPTED_TYPES = new Set(['jwt', 'at+jwt', 'application/jwt', 'application/at+jwt'])

/** Creates a verifier of signed tokens, with a secret or with fetched keys. */
export function createJwtVerifier(settings: JwtSettings, options: JwtVerifierOptions = {}): JwtVerifier {
  const { now = Date.now, keysHint = KEYS_HINT } = options
  let opened: Promise<OpenVerifier> | undefined
  return {
    async verify(token) {
      if (token.length > MAX_JWT_LENGTH)
        return refusePermanently(`The token is longer than ${MAX_JWT_LENGTH} characters`)
      if (!COMPACT_JWT.test(token)) return refusePermanently('The token is not a signed JWT')
      opened ??= openVerifier(settings, { now, keysHint })
      return verifyToken(await opened, { token, settings, now })
    },
  }
}

interface OpenVerifier {
  readonly jose: Jose
  readonly verify: (token: string, options: JWTVerifyOptions) => ReturnType<Jose['jwtVerify']>
}

/** jose is loaded with the first token, so a program without JWTs never loads it. */
async function openVerifier(settings: JwtSettings, options: Required<JwtVerifierOptions>): Promise<OpenVerifier> {
  const { secret, jwksUri, publicKey, keySet } = settings
  const jose = await import('jose')
  const shared = secret === undefined ? undefined : new TextEncoder().encode(secret)
  const published = jwksUri === undefined ? undefined : new RemoteKeys(jose, { url: jwksUri, ...options })
  const pinned = keySet && jose.createLocalJWKSet(keySet)
  /** Chooses the key by the algorithm's family only: a key of one must never verify a token of the other (RFC 8725, 2.1). */
  const keyFor = async (header: JWSHeaderParameters, jws: FlattenedJWSInput) => {
    // A key id that is not a string matches no key, and must not be treated as a missing one (RFC 7515, 4.1.4).
    if (header.kid !== undefined && typeof header.kid !== 'string')
      throw new jose.errors.JWSInvalid('kid must be a string')
    const key = header.alg?.startsWith('HS')
      ? shared
      : (publicKey ?? (await (pinned?.(header, jws) ?? published?.find(header, jws))))
    if (key === undefined) throw new jose.errors.JOSEAlgNotAllowed('no key is configured for this algorithm')
    return key
  }
  return { jose, verify: (token, verifyWith) => jose.jwtVerify(token, keyFor, verifyWith) }
}

interface TokenCheck {
  readonly token: string
  readonly settings: JwtSettings
  readonly now: () => number
}

async function verifyToken({ jose, verify }: OpenVerifier, question: TokenCheck): Promise<VerifiedToken | JwtRefusal> {
  const { settings, token, now } = question
  try {
    const verified = await verify(token, toVerifyOptions(settings, now()))
    return findTokenProblem(verified, question) ?? toVerified(verified, settings)
  } catch (error) {
    return toRefusal(error, jose)
  }
}

/** Finds a problem in a token whose signature and lifetime are valid. */
function findTokenProblem(
  { payload, protectedHeader }: JWTVerifyResult,
  { settings, token }: TokenCheck,
): JwtRefusal | undefined {
  const wrongHeader = findHeaderProblem(protectedHeader, settings)
  if (wrongHeader !== undefined) return refusePermanently(wrongHeader)
  if (settings.audience.length === 0 && payload.aud !== undefined) return refuseClaim('aud')
  const untimely = TIME_CLAIMS.find((claim) => payload[claim] !== undefined && !isValidTime(payload[claim]))
  if (untimely !== undefined) return refuseClaim(untimely)
  if (settings.type !== undefined && isTooLong(payload, settings)) return refuseClaim('exp')
  // Decoded like jose does it: without a byte order mark.
  const parts = token.split('.', 2).map((part) => new TextDecoder().decode(Buffer.from(part, 'base64url')))
  return parts.some(hasDuplicateKey) ? refusePermanently('The token has a duplicate member') : undefined
}

function findHeaderProblem({ typ, kid }: JWSHeaderParameters, { type }: JwtSettings): string | undefined {
  if (type === undefined) return typ === undefined || ACCEPTED_TYPES.has(typ.toLowerCase()) ? undefined : OTHER_PURPOSE
  if (typ !== type) return OTHER_PURPOSE
  return typeof kid === 'string' && kid !== '' ? undefined : 'The token does not name its key'
}

const OTHER_PURPOSE = 'The token was made for another purpose'

/** `maxAgeSeconds` alone would accept a token for a year during its first minute. */
function isTooLong({ exp = 0, iat = 0 }: JWTPayload, { maxAgeSeconds = 0, toleranceSeconds }: JwtSettings): boolean {
  return exp - iat > maxAgeSeconds + toleranceSeconds
}

const TIME_CLAIMS = ['exp', 'nbf', 'iat'] as const
/** The end of the year 9999. */
const MAX_TIME_SECONDS = 253_402_300_799

/** `1e400` is valid JSON and is parsed as Infinity: such a token would never expire. */
const isValidTime = (value: unknown): boolean => typeof value === 'number' && value >= 0 && value <= MAX_TIME_SECONDS

function toVerifyOptions(settings: JwtSettings, now: number): JWTVerifyOptions {
  return {
    algorithms: [...settings.algorithms],
    clockTolerance: settings.toleranceSeconds,
    currentDate: new Date(now),
    requiredClaims: ['exp', 'sub'],
    ...(settings.maxAgeSeconds === undefined ? {} : { maxTokenAge: settings.maxAgeSeconds }),
    ...(settings.issuers.length > 0 ? { issuer: [...settings.issuers] } : {}),
    ...(settings.audience.length > 0 ? { audience: [...settings.audience] } : {}),
  }
}

function toVerified({ payload }: JWTVerifyResult, { toleranceSeconds, maxAgeSeconds }: JwtSettings): VerifiedToken {
  const { exp = 0, iat = 0 } = payload
  const end = maxAgeSeconds === undefined ? exp : Math.min(exp, iat + maxAgeSeconds)
  return { claims: payload as JsonObject, expiresAt: (end + toleranceSeconds) * 1_000 }
}

function toRefusal(error: unknown, { errors }: Jose): JwtRefusal {
  if (error instanceof SallyportError)
    return { problem: 'The token cannot be verified at the moment', certainty: 'unverifiable', cause: error }
  if (error instanceof errors.JWTExpired) return refusePermanently('The token has expired')
  if (error instanceof errors.JWTClaimValidationFailed)
    return error.claim === 'nbf' ? refuseTemporarily('The token is not valid yet') : refuseClaim(error.claim)
  if (error instanceof errors.JWKSNoMatchingKey) return refuseTemporarily('The token is signed with an unknown key')
  if (error instanceof errors.JWKSMultipleMatchingKeys)
    return refusePermanently('The token does not say with which of several keys it is signed')
  if (error instanceof errors.JOSEAlgNotAllowed)
    return refusePermanently('The token is signed with an algorithm not accepted here')
  if (error instanceof errors.JWSSignatureVerificationFailed)
    return refusePermanently("The token's signature does not verify")
  if (error instanceof errors.JOSEError) return refusePermanently('The token is not a valid signed JWT')
  return { ...refuseTemporarily('The token could not be verified'), cause: error }
}
