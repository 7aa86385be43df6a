import { ExpiringMap, type Principal, SallyportError } from '@sallyport/core'
import { type JwtRefusal, MAX_JWT_LENGTH } from '@sallyport/kit/identity'
import type { Credential } from './credential.ts'
import type { PrincipalVerifier } from './jwt-principal.ts'
import type { LocalTokens } from './local-tokens.ts'
import { digest } from './secret.ts'
import { standingPrincipal } from './standing-token.ts'

/** Why a caller was refused, and what the answer has to contain. */
export interface Refusal {
  readonly refused: SallyportError
  /** The WWW-Authenticate value (RFC 6750, 3), for answers with status 401. */
  readonly challenge: string | undefined
  /** `wrong`: the credential was rejected, and counts as a failure. */
  readonly credential: 'missing' | 'wrong' | 'unverified'
}

export type Authentication = Principal | Refusal

export interface AuthenticatorOptions {
  readonly tokens: Pick<LocalTokens, 'verify' | 'onChange'>
  readonly jwt?: PrincipalVerifier | undefined
  /** Treats every caller without a valid credential as the local agent. The code that sets this must allow it only on loopback. */
  readonly noAuth?: boolean | undefined
  readonly now?: () => number
}

/** A token68 (RFC 7235) after the only supported scheme; schemes are case-insensitive. */
const BEARER = /^bearer ([A-Za-z0-9._~+/-]+=*)$/i
const LOCAL_TOKEN = /^sp[ao]_/
const MAX_HEADER_LENGTH = MAX_JWT_LENGTH + 'Bearer '.length

const MAX_CACHED = 1_000
const MAX_REFUSED = 1_000
const MAX_VERIFYING = 64
/** A JWT is verified again after this time, so that a withdrawn key ends it before it expires. */
const JWT_CACHE_MS = 60_000
const REFUSAL_CACHE_MS = 60_000

export const isRefusal = (authentication: Authentication): authentication is Refusal => 'refused' in authentication

export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  return new Authenticator(options)
}

/** Identifies the caller from the Authorization header. A cached caller is returned synchronously. */
export class Authenticator {
  readonly #tokens: AuthenticatorOptions['tokens']
  readonly #jwt: PrincipalVerifier | undefined
  readonly #anonymous: Principal | undefined
  readonly #now: () => number
  readonly #cached: ExpiringMap<Principal>
  readonly #refused: ExpiringMap<Refusal>
  readonly #verifying = new Map<string, Promise<Authentication>>()
  readonly #unsubscribe: () => void

  constructor(options: AuthenticatorOptions) {
    this.#tokens = options.tokens
    this.#jwt = options.jwt
    this.#anonymous = options.noAuth ? standingPrincipal('agent') : undefined
    this.#now = options.now ?? Date.now
    this.#cached = new ExpiringMap(MAX_CACHED, this.#now)
    this.#refused = new ExpiringMap(MAX_REFUSED, this.#now)
    this.#unsubscribe = options.tokens.onChange(() => this.#cached.clear())
  }

  authenticate(authorization: string | undefined): Authentication | Promise<Authentication> {
    if (authorization === undefined) return this.#refuse(MISSING)
    return this.#cached.get(authorization) ?? this.#identify(authorization)
  }

  close(): void {
    this.#unsubscribe()
    this.#cached.clear()
    this.#refused.clear()
  }

  #refuse(refusal: Refusal): Authentication {
    return this.#anonymous ?? refusal
  }

  #identify(authorization: string): Authentication | Promise<Authentication> {
    if (authorization.length > MAX_HEADER_LENGTH) return this.#refuse(MALFORMED)
    const token = BEARER.exec(authorization)?.[1]
    if (token === undefined) return this.#refuse(explainUnreadable(authorization))
    if (LOCAL_TOKEN.test(token)) return this.#verifyLocal(token, authorization)
    return this.#jwt === undefined ? this.#refuse(UNKNOWN) : this.#verifyJwt(token, authorization, this.#jwt)
  }

  #verifyLocal(token: string, authorization: string): Authentication {
    const credential = this.#tokens.verify(token)
    if (credential === undefined) return this.#refuse(UNKNOWN)
    this.#cached.put(authorization, credential.principal, credential.expiresAt)
    return credential.principal
  }

  /** Parallel requests with the same token share one verification; the number of parallel verifications is limited. */
  #verifyJwt(token: string, authorization: string, jwt: PrincipalVerifier): Authentication | Promise<Authentication> {
    const key = digest(token)
    const refused = this.#refused.get(key)
    if (refused !== undefined) return this.#refuse(refused)
    const inFlight = this.#verifying.get(key)
    if (inFlight !== undefined) return inFlight
    if (this.#verifying.size >= MAX_VERIFYING) return this.#refuse(BUSY)
    const verifying = jwt
      .verify(token)
      .then((outcome) =>
        'problem' in outcome ? this.#cacheRefusal(key, outcome) : this.#cachePrincipal(authorization, outcome),
      )
      .finally(() => this.#verifying.delete(key))
    this.#verifying.set(key, verifying)
    return verifying
  }

  #cachePrincipal(authorization: string, { principal, expiresAt }: Credential): Principal {
    this.#cached.put(authorization, principal, Math.min(expiresAt, this.#now() + JWT_CACHE_MS))
    return principal
  }

  #cacheRefusal(key: string, outcome: JwtRefusal): Authentication {
    const refusal = fromJwtRefusal(outcome)
    if (outcome.certainty === 'final') this.#refused.put(key, refusal, this.#now() + REFUSAL_CACHE_MS)
    return this.#refuse(refusal)
  }
}

const REALM = 'Bearer realm="sallyport"'
const HINT =
  'Send "Authorization: Bearer <token>" with a token of `sallyport token`, or the one in tokens/agent of the state folder.'

/** Explains what clients send if a variable is not set where they were started. */
function explainUnreadable(authorization: string): Refusal {
  if (!/^bearer\b/i.test(authorization)) return MISSING
  const sent = authorization.slice('bearer'.length).trim()
  if (sent === '') return EMPTY
  return /\$\{|\{env:|\{\{|^\$\w|^<.*>$/.test(sent) ? REFERENCE : MALFORMED
}

/** A shared constant: many requests without a token must not each cost a stack trace. */
const MISSING: Refusal = { ...unauthenticated('The request carries no bearer token.', REALM), credential: 'missing' }
const EMPTY = unauthenticated('The bearer token is empty.', invalidTokenChallenge('empty'))
const REFERENCE = unauthenticated(
  `The bearer token is the name of a variable, such as \${TOKEN}, which the client did not replace with its value.`,
  invalidTokenChallenge('a variable that was not replaced'),
)
const MALFORMED = unauthenticated(
  'The Authorization header is not one bearer token.',
  invalidTokenChallenge('malformed'),
)
const UNKNOWN = unauthenticated(
  'The token is not known here, or has expired or been revoked.',
  invalidTokenChallenge('unknown'),
)
const BUSY: Refusal = {
  refused: new SallyportError('OVERLOADED', 'Too many tokens are being verified at the moment.', {
    hint: 'Try again in a moment.',
  }),
  challenge: undefined,
  credential: 'unverified',
}

function fromJwtRefusal({ problem, certainty, cause }: JwtRefusal): Refusal {
  if (certainty !== 'unverifiable') return unauthenticated(`${problem}.`, invalidTokenChallenge(problem), cause)
  const hint = 'Try again in a moment; see the log of the gateway for details.'
  const refused = new SallyportError('OVERLOADED', `${problem}.`, { hint, cause })
  return { refused, challenge: undefined, credential: 'unverified' }
}

function unauthenticated(message: string, challenge: string, cause?: unknown): Refusal {
  const refused = new SallyportError('UNAUTHENTICATED', message, { hint: HINT, cause })
  return { refused, challenge, credential: 'wrong' }
}

/** The description is always our own text, so nothing that a client sent can get into the header. */
function invalidTokenChallenge(description: string): string {
  return `${REALM}, error="invalid_token", error_description="${description}"`
}
