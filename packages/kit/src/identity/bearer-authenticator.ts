import { type JsonObject, SallyportError } from '@sallyport/core'
import type { Authentication, Authenticator, RequestHeaders } from './authenticator.ts'
import { type JwtOptions, readJwtOptions } from './jwt-options.ts'
import { type JwtRefusal, refuseClaim } from './jwt-refusal.ts'
import { createJwtVerifier, type JwtSettings, type JwtVerifier, MAX_JWT_LENGTH } from './jwt-verifier.ts'
import { isPrintableName } from './printable-name.ts'
import { VerifiedTokens } from './verified-tokens.ts'

/** RFC 7235's token68 after the only scheme that we accept; schemes are case-insensitive. */
const BEARER = /^bearer ([A-Za-z0-9._~+/-]+=*)$/i
const MAX_HEADER_LENGTH = MAX_JWT_LENGTH + 'Bearer '.length
/** After this a token is verified again, so that a revoked key ends it before it expires. */
const CACHE_MS = 60_000
const RETRY_AFTER_SECONDS = 3

export interface BearerOptions {
  readonly jwt: JwtOptions
  readonly resourceMetadata: string | undefined
  readonly now: () => number
}

/** Identifies callers by their bearer JWT. A verified token is cached for a minute, or until it expires. */
export class BearerAuthenticator implements Authenticator {
  readonly #settings: JwtSettings
  readonly #verifier: JwtVerifier
  readonly #challenge: string
  readonly #now: () => number
  readonly #tokens: VerifiedTokens<Authentication>

  constructor({ jwt, resourceMetadata, now }: BearerOptions) {
    this.#settings = readJwtOptions(jwt)
    this.#verifier = createJwtVerifier(this.#settings, { now })
    this.#challenge = buildChallenge(resourceMetadata)
    this.#now = now
    this.#tokens = new VerifiedTokens((token) => this.#verify(token), now)
  }

  async authenticate({ authorization }: RequestHeaders): Promise<Authentication> {
    const [header, ...others] = typeof authorization === 'string' ? [authorization] : (authorization ?? [])
    if (header === undefined) return this.#refuseMissing()
    // Of two headers, a proxy before us may have checked the other one.
    if (others.length > 0 || header.length > MAX_HEADER_LENGTH) return this.#refuseMalformed()
    const token = BEARER.exec(header)?.[1]
    if (token !== undefined) return this.#tokens.find(token)
    return /^bearer\b/i.test(header) ? this.#refuseMalformed() : this.#refuseMissing()
  }

  assertMayListen(): void {
    // Every caller needs a token, so any address is safe.
  }

  async #verify(token: string): Promise<{ readonly value: Authentication; readonly until?: number }> {
    const verified = await this.#verifier.verify(token)
    if ('problem' in verified) return { value: this.#toRefusal(verified) }
    const { claims, expiresAt } = verified
    const owner = readTokenOwner(claims, this.#settings.issuers)
    if ('problem' in owner) return { value: this.#toRefusal(owner) }
    const identity = Object.freeze({ ...owner, claims: deepFreeze(claims) })
    return { value: Object.freeze({ identity, expiresAt }), until: Math.min(expiresAt, this.#now() + CACHE_MS) }
  }

  #toRefusal({ problem, certainty }: JwtRefusal): Authentication {
    if (certainty === 'unverifiable')
      return { status: 503, retryAfterSeconds: RETRY_AFTER_SECONDS, problem: `${problem}.` }
    return this.#refuse(problem, 'invalid_token')
  }

  #refuseMissing(): Authentication {
    return this.#refuse('The request carries no bearer token')
  }

  #refuseMalformed(): Authentication {
    return this.#refuse('The Authorization header is not one bearer token', 'invalid_token')
  }

  #refuse(problem: string, error?: string): Authentication {
    return refuseBearer(problem, error, this.#challenge)
  }
}

const PLAIN_CHALLENGE = 'Bearer realm="mcp"'

/** RFC 6750 (3.1): without a token there is no `error`. `problem` is always our own text, so it is safe in a header. */
export function refuseBearer(problem: string, error?: string, challenge: string = PLAIN_CHALLENGE): Authentication {
  const reason = error === undefined ? '' : `, error="${error}", error_description="${problem}"`
  return { status: 401, wwwAuthenticate: `${challenge}${reason}`, problem: `${problem}.` }
}

/** The handlers of many requests share the same claims, so none of them may change them. */
function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value
  for (const part of Object.values(value)) deepFreeze(part)
  return Object.freeze(value)
}

function buildChallenge(resourceMetadata: string | undefined): string {
  if (resourceMetadata === undefined) return PLAIN_CHALLENGE
  const url = URL.canParse(resourceMetadata) ? new URL(resourceMetadata) : undefined
  if (url !== undefined && /^https?:$/.test(url.protocol)) return `${PLAIN_CHALLENGE}, resource_metadata="${url.href}"`
  throw new SallyportError('CONFIG_INVALID', 'auth.resourceMetadata is not a valid URL.', {
    hint: 'Give the address of the metadata of this resource, such as "https://host/.well-known/oauth-protected-resource".',
  })
}

interface TokenOwner {
  readonly userId: string
  readonly sessionId: string
}

/**
 * The identity in the claims of a verified token. If a claim is present but not a usable string, the token is refused:
 * a default would grant more than its issuer meant.
 */
export function readTokenOwner(claims: JsonObject, issuers: readonly string[]): TokenOwner | JwtRefusal {
  const { iss, sub } = claims
  // "ada" of one issuer and "ada" of another are different users.
  const userId = issuers.length > 1 ? `${iss}#${sub}` : sub
  if (!isPrintableName(sub) || !isPrintableName(userId)) return refuseClaim('sub')
  const sessionId = Object.hasOwn(claims, 'session_id') ? claims.session_id : `jwt:${userId}`
  return isPrintableName(sessionId) ? { userId, sessionId } : refuseClaim('session_id')
}
