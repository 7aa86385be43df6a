import type { JwtSettings } from '../config/config.ts'
import { type Authenticator, createAuthenticator } from './authenticator.ts'
import { createPrincipalVerifier, type PrincipalVerifier } from './jwt-principal.ts'
import type { LocalTokens } from './local-tokens.ts'

/** Whose credentials a port asks for: for trying things, nobody's. */
export type CredentialPolicy = 'of everybody' | 'of nobody'

/** Who may come in, by the configuration that is in force now. */
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

  authenticatorFor(whose: CredentialPolicy): Authenticator {
    const known = this.#authenticators.get(whose)
    if (known) return known
    const opened = createAuthenticator({ tokens: this.#tokens, jwt: this.#jwt, noAuth: whose === 'of nobody' })
    this.#authenticators.set(whose, opened)
    return opened
  }

  /** A key that was taken out of the configuration counts no longer, also for callers who are known already. */
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
