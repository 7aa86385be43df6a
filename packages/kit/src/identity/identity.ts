export {
  type Authentication,
  type Authenticator,
  type AuthOptions,
  createAuthenticator,
  type RequestHeaders,
} from './authenticator.ts'
export { readTokenOwner } from './bearer-authenticator.ts'
export { type Environment, findDataFolder } from './data-folder.ts'
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
  createScope,
  currentScope,
  findScope,
  getSessionId,
  getUserId,
  type Identity,
  type RequestScope,
  runInScope,
} from './request-scope.ts'
