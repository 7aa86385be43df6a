import { AsyncLocalStorage } from 'node:async_hooks'
import { type JsonObject, SallyportError } from '@sallyport/core'

/** Who calls: proven by a token, or told by whoever opened the connection. Never by arguments of a tool. */
export interface Identity {
  readonly userId: string
  readonly sessionId: string
  /** What else the token says. */
  readonly claims?: JsonObject
}

/** What holds for one request, wherever its handler goes: promises, timers, streams. */
export interface RequestScope {
  readonly userId: string
  readonly sessionId: string
  readonly claims: JsonObject
  /** Below it lies what the kit keeps for users and sessions. */
  readonly dataFolder: string
}

const scopes = new AsyncLocalStorage<RequestScope | undefined>()

/**
 * Runs the work for one caller. Without a scope it runs for nobody: a server that is called from inside a handler of
 * another one must not inherit that one's caller.
 */
export function runInScope<Result>(scope: RequestScope | undefined, work: () => Result): Result {
  // Until the first run, following promises costs nothing: a program without identities never pays.
  if (scope === undefined && scopes.getStore() === undefined) return work()
  return scopes.run(scope, work)
}

/** Creates the scope of a request: its user, its session and their folder. */
export function createScope({ userId, sessionId, claims = {} }: Identity, dataFolder: string): RequestScope {
  return Object.freeze({ userId, sessionId, claims, dataFolder })
}

/** The scope of the request that is being answered, where there is one. */
export const findScope = (): RequestScope | undefined => scopes.getStore()

/** The scope of the request that is being answered. */
export function currentScope(): RequestScope {
  const scope = scopes.getStore()
  if (scope !== undefined) return scope
  throw new SallyportError('USAGE', 'There is no caller here: this is not the handler of a request with an identity.', {
    hint: 'Ask inside the handler of a tool, resource or prompt, and give connect() an identity where you carry messages yourself.',
  })
}

/** The user on whose behalf the running handler was called. */
export const getUserId = (): string => currentScope().userId

/** The session to which the running handler belongs: one piece of work of its user. */
export const getSessionId = (): string => currentScope().sessionId
