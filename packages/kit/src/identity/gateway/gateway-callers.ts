import { join } from 'node:path'
import { type JwtRefusal, refusePermanently } from '../jwt-refusal.ts'
import { createJwtVerifier } from '../jwt-verifier.ts'
import { VerifiedTokens } from '../verified-tokens.ts'
import { type ForwardedCaller, readCallerClaims } from './caller-token.ts'
import type { GatewaySettings } from './gateway-options.ts'
import { spendToken } from './spent-tokens.ts'

type Outcome = ForwardedCaller | JwtRefusal

/** Where used tokens are marked, and the clock. */
export interface GatewayCallersOptions {
  readonly dataFolder: string
  readonly now?: () => number
}

const SPENT_FOLDER = 'spent-tokens'
const KEYS_HINT = 'Check that auth.gateway.jwksUri is right and that the gateway can be reached.'

/** Identifies the callers that the gateway forwards. */
export class GatewayCallers {
  readonly #tokens: VerifiedTokens<Outcome>
  readonly #spentFolder: string

  constructor({ tokens }: GatewaySettings, { dataFolder, now = Date.now }: GatewayCallersOptions) {
    const verifier = createJwtVerifier(tokens, { now, keysHint: KEYS_HINT })
    this.#spentFolder = join(dataFolder, SPENT_FOLDER)
    this.#tokens = new VerifiedTokens<Outcome>(async (token) => {
      const verified = await verifier.verify(token)
      if ('problem' in verified) return { value: verified }
      const caller = readCallerClaims(verified.claims)
      return 'problem' in caller ? { value: caller } : { value: caller, until: verified.expiresAt }
    }, now)
  }

  /** Returns the caller, or why the token is refused; a promise only if the token is not known yet. */
  verify(token: unknown): Outcome | Promise<Outcome> {
    return typeof token === 'string' ? this.#tokens.find(token) : refusePermanently('The token is not a string')
  }

  /** Marks a token for one call as used. Returns false if it was used before. */
  spend({ tokenId }: ForwardedCaller): Promise<boolean> {
    return spendToken(this.#spentFolder, tokenId)
  }
}
