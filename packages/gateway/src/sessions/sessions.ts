export {
  type Authentication,
  type Authenticator,
  type AuthenticatorOptions,
  createAuthenticator,
  isRefusal,
  type Refusal,
} from './authenticate.ts'
export { isClaimText } from './claim-text.ts'
export type { Credential } from './credential.ts'
export { type Credentials, Gatekeeper } from './gatekeeper.ts'
export { createJwtVerifier, type JwtRefusal, type JwtVerifier } from './jwt-verifier.ts'
export {
  type LocalTokens,
  type LocalTokensOptions,
  type MintedToken,
  type MintRequest,
  openLocalTokens,
} from './local-tokens.ts'
export { clearedCookie, createLogins, type Logins, sessionCookie } from './login.ts'
export { type StandingRole, standingPrincipal } from './standing-token.ts'
export type { TokenRecord } from './token-record.ts'
