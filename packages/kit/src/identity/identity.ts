export { type Authentication, type Authenticator, createAuthenticator, type RequestHeaders } from './authenticate.ts'
export { type Environment, findDataFolder } from './data-folder.ts'
export { ownerFolder } from './owner-folder.ts'
export {
  createScope,
  currentScope,
  getSessionId,
  getUserId,
  type Identity,
  type RequestScope,
  runInScope,
} from './request-scope.ts'
