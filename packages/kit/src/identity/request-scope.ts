import { AsyncLocalStorage } from 'node:async_hooks'
import { type JsonObject, SallyportError } from '@sallyport/core'
import type { SessionKeys } from '../keys/keys.ts'
import type { ForwardedCaller } from './gateway/caller-token.ts'

/** Who calls: proven by a token, or set by the code that opened the connection. Never by arguments of a tool. */
export interface Identity {
  readonly userId: string
  readonly sessionId: string
  /** The other claims of the token. */
  readonly claims?: JsonObject
}

/** The context of one request. It follows the handler through promises, timers and streams. */
export interface RequestScope {
  readonly userId: string
  readonly sessionId: string
  readonly claims: JsonObject
  /** The folder in which the kit stores data of users and sessions. */
  readonly dataFolder: string
  /** The keys with which results in that folder are encrypted. */
  readonly sessionKeys: SessionKeys
  /** What the gateway says about the call, if it came through the gateway. */
  readonly gateway?: ForwardedCaller
}

/** Who calls, with which program. */
export interface Caller {
  readonly userId: string
  readonly sessionId: string
  /** The kind of client program, such as `claude-code`. Known behind the gateway, or if the token has the claim. */
  readonly agent: string | undefined
  /** The agent's variant, such as `reviewer`. */
  readonly profile: string | undefined
}

const scopes = new AsyncLocalStorage<RequestScope | undefined>()

/**
 * Runs the work for one caller. Without a scope it runs for no caller: a server that is called from a handler of
 * another server must not inherit its caller.
 */
export function runInScope<Result>(scope: RequestScope | undefined, work: () => Result): Result {
  // AsyncLocalStorage costs time only after its first use: a program without identities never pays for it.
  if (scope === undefined && scopes.getStore() === undefined) return work()
  return scopes.run(scope, work)
}

/** Where data of users and sessions is stored, and with which keys. */
export type SessionStorage = Pick<RequestScope, 'dataFolder' | 'sessionKeys'>

/** Creates the scope of a request: its user, its session and their folder. */
export function createScope(
  { userId, sessionId, claims = {} }: Identity,
  { dataFolder, sessionKeys }: SessionStorage,
): RequestScope {
  return Object.freeze({ userId, sessionId, claims, dataFolder, sessionKeys })
}

/** Creates the scope of a request that the gateway forwards. */
export function createForwardedScope(
  gateway: ForwardedCaller,
  { dataFolder, sessionKeys }: SessionStorage,
): RequestScope {
  const { userId, sessionId, agent, profile, permissions } = gateway
  return Object.freeze({ userId, sessionId, claims: { agent, profile, permissions }, dataFolder, sessionKeys, gateway })
}

/** The scope of the running request, or `undefined`. */
export const findScope = (): RequestScope | undefined => scopes.getStore()

/** The scope of the running request. Throws if there is none. */
export function currentScope(): RequestScope {
  const scope = scopes.getStore()
  if (scope !== undefined) return scope
  throw new SallyportError('USAGE', 'There is no caller here: this is not the handler of a request with an identity.', {
    hint: 'Call it inside the handler of a tool, resource or prompt. If you use connect() yourself, give it an identity.',
  })
}

/** The user on whose behalf the running handler was called. */
export const getUserId = (): string => currentScope().userId

/** The session to which the running handler belongs: one task of its user. */
export const getSessionId = (): string => currentScope().sessionId

/** The user, the session, the agent and the profile of the running handler's call. */
export function getCaller(): Caller {
  const { userId, sessionId, claims } = currentScope()
  const { agent, profile } = claims
  return {
    userId,
    sessionId,
    agent: typeof agent === 'string' ? agent : undefined,
    profile: typeof profile === 'string' ? profile : undefined,
  }
}
