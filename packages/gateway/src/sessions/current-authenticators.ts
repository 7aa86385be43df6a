import type { JwtSettings } from '../config/config.ts'
import { type Authenticator, createAuthenticator } from './authenticator.ts'
import { createPrincipalVerifier, type PrincipalVerifier } from './jwt-principal.ts'
import type { LocalTokens } from './local-tokens.ts'

/** Whether a port requires a credential. `none` is for trying things out. */
export type CredentialPolicy = 'required' | 'none'

/** The authenticators for the current configuration. */
export class CurrentAuthenticators {
  readonly #tokens: LocalTokens
  readonly #authenticators = new Map<CredentialPolicy, Authenticator>()
  #settings: JwtSettings | undefined
  #jwt: PrincipalVerifier | undefined

  constructor(tokens: LocalTokens, jwt: JwtSettings | undefined) {
    this.#tokens = tokens
    this.#settings = jwt
    this.#jwt = jwt && createPrincipalVerifier(jwt)
  }

  authenticatorFor(policy: CredentialPolicy): Authenticator {
    const known = this.#authenticators.get(policy)
    if (known) return known
    const opened = createAuthenticator({ tokens: this.#tokens, jwt: this.#jwt, noAuth: policy === 'none' })
    this.#authenticators.set(policy, opened)
    return opened
  }

  /** A key that was removed from the configuration is no longer valid, also for callers that are already cached. */
  reload(jwt: JwtSettings | undefined): void {
    if (JSON.stringify(jwt) === JSON.stringify(this.#settings)) return
    this.#settings = jwt
    this.#jwt = jwt && createPrincipalVerifier(jwt)
    this.close()
  }

  close(): void {
    for (const authenticator of this.#authenticators.values()) authenticator.close()
    this.#authenticators.clear()
  }
}
