export {
  type Authentication,
  type Authenticator,
  type AuthOptions,
  createAuthenticator,
  type RequestHeaders,
} from './authenticator.ts'
export { readTokenOwner } from './bearer-authenticator.ts'
export { type Environment, findDataFolder } from './data-folder.ts'
export {
  CALLER_META,
  CALLER_TOKEN_ISSUER,
  CALLER_TOKEN_TYPE,
  type ForwardedCaller,
  MAX_CALLER_TOKEN_SECONDS,
  PURGE_METHOD,
} from './gateway/caller-token.ts'
export { GatewayCallers } from './gateway/gateway-callers.ts'
export { type GatewayAuthOptions, readGatewayOptions } from './gateway/gateway-options.ts'
export { CALLER_KEYS_VARIABLE, readStartEnvironment, SERVER_ID_VARIABLE } from './gateway/start-environment.ts'
export type { JwtOptions } from './jwt-options.ts'
export { type JwtRefusal, refuseClaim } from './jwt-refusal.ts'
export {
  createJwtVerifier,
  type JwtSettings,
  type JwtVerifierOptions,
  MAX_JWT_LENGTH,
  type VerifiedToken,
} from './jwt-verifier.ts'
export { getOsUser, readLocalIdentity } from './local-identity.ts'
export { ownerFolder } from './owner-folder.ts'
export { isPrintableName } from './printable-name.ts'
export {
  type Caller,
  createForwardedScope,
  createScope,
  currentScope,
  findScope,
  getCaller,
  getSessionId,
  getUserId,
  type Identity,
  type RequestScope,
  runInScope,
  type SessionStorage,
} from './request-scope.ts'
