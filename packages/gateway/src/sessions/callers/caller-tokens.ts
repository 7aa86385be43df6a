import { randomUUID } from 'node:crypto'
import type { Principal, Sensitivity } from '@sallyport/core'
import type { CallerKeys } from './caller-keys.ts'

/** The sensitivity label of a session. */
export interface SessionLabel {
  readonly sensitivity: Sensitivity
  readonly isPrivate: boolean
}

export interface CallerTokensOptions {
  readonly keys: Pick<CallerKeys, 'sign'>
  /** The label of the caller's session. Called for every request, so it must only look it up. */
  readonly labelOf: (principal: Principal) => SessionLabel
  readonly now: () => number
}

/** The connection for which a token is made. */
interface Audience {
  /** The server's id in the configuration. */
  readonly server: string
  /** The newest key that the server was given; if missing, the server reads the published ones. */
  readonly keyId: string | undefined
}

interface CachedToken {
  readonly token: string
  readonly label: SessionLabel
  /** In milliseconds since 1970. */
  readonly madeAt: number
}

/** How long a token is valid. */
export const TOKEN_LIFETIME_S = 60
/** It is used for this long, so that a server that gets it late can still check it. */
const USED_FOR_MS = 40_000
const ISSUER = 'sallyport'
/** The permissions of every caller; which tools it may call is decided by the gateway. */
const PERMISSIONS = ['READ', 'WRITE', 'CONNECT'] as const

/** Tokens that tell servers who calls (SEN-19). A token is signed once for each caller, connection and label. */
export class CallerTokens {
  readonly #options: CallerTokensOptions
  /** The same caller is the same object. */
  readonly #callers = new WeakMap<Principal, Caller>()

  constructor(options: CallerTokensOptions) {
    this.#options = options
  }

  /** Who makes a request. */
  find(principal: Principal): Caller {
    const known = this.#callers.get(principal)
    if (known !== undefined) return known
    const caller = new Caller(principal, this.#options)
    this.#callers.set(principal, caller)
    return caller
  }

  /**
   * The same for one request: a person approved that this tool may connect to others, although the session is private.
   * It has a token of its own.
   */
  findForConnect(principal: Principal, tool: string): Caller {
    return new Caller(principal, this.#options, { connect: { tool } })
  }

  /** The same for the one request that removes what a session has stored. */
  findForPurge(principal: Principal): Caller {
    return new Caller(principal, this.#options, { purge: true })
  }
}

/** A caller, and its tokens for the connections that it uses. */
class Caller {
  readonly #principal: Principal
  readonly #options: CallerTokensOptions
  readonly #purpose: object
  readonly #tokens = new WeakMap<Audience, CachedToken>()

  constructor(principal: Principal, options: CallerTokensOptions, purpose: object = {}) {
    this.#principal = principal
    this.#options = options
    this.#purpose = purpose
  }

  /** The token for a request that is written now. */
  tokenFor(audience: Audience): string {
    const { labelOf, now } = this.#options
    const label = labelOf(this.#principal)
    const time = now()
    const cached = this.#tokens.get(audience)
    if (cached !== undefined && isUsable(cached, label, time)) return cached.token
    const token = this.#options.keys.sign(this.#claims(audience, label, time), audience.keyId)
    this.#tokens.set(audience, { token, label, madeAt: time })
    return token
  }

  #claims({ server }: Audience, { sensitivity, isPrivate }: SessionLabel, time: number): object {
    const { user, session, agent, profile } = this.#principal
    const iat = Math.floor(time / 1_000)
    return {
      ...{ iss: ISSUER, aud: server, sub: user, session, agent, profile },
      permissions: PERMISSIONS,
      label: sensitivity,
      private: isPrivate,
      // The gateway shortens results itself (SEN-21).
      shapes: true,
      ...this.#purpose,
      ...{ iat, exp: iat + TOKEN_LIFETIME_S, jti: randomUUID() },
    }
  }
}

/** By a clock that was set back, a token is not used longer. */
const isUsable = ({ label, madeAt }: CachedToken, now: SessionLabel, time: number): boolean =>
  label.sensitivity === now.sensitivity &&
  label.isPrivate === now.isPrivate &&
  time >= madeAt &&
  time - madeAt < USED_FOR_MS
