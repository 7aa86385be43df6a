import { isLoopback, SallyportError } from '@sallyport/core'
import { BearerAuthenticator } from './bearer-authenticator.ts'
import type { JwtOptions } from './jwt-options.ts'
import type { Identity } from './request-scope.ts'

/** The headers of a request in Node's format, names in lower case. */
export type RequestHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

/** The caller's identity, or how to refuse the request. The texts never contain any part of a token. */
export type Authentication =
  /** `expiresAt` in milliseconds since 1970: an accepted stream ends then. */
  | { readonly identity: Identity; readonly expiresAt?: number }
  | { readonly status: 401; readonly wwwAuthenticate: string; readonly problem: string }
  /** The token cannot be verified at the moment: the issuer's keys could not be fetched. */
  | { readonly status: 503; readonly retryAfterSeconds: number; readonly problem: string }

/** Decides who sends a request. */
export interface Authenticator {
  authenticate(headers: RequestHeaders): Promise<Authentication>
  /** Throws if requests to this address must not be served with these settings. Called before listening. */
  assertMayListen(host: string): void
}

/** How callers over HTTP prove who they are. */
export interface AuthOptions {
  readonly jwt: JwtOptions
  /** The URL where clients learn how to get a token (RFC 9728); part of every refusal. */
  readonly resourceMetadata?: string | undefined
}

export interface AuthenticatorOptions {
  readonly auth?: AuthOptions | undefined
  /** Every caller is the same user "dev", without a token: for trials, on loopback only. */
  readonly dev?: boolean | undefined
  readonly now?: () => number
}

const DEV_IDENTITY: Identity = Object.freeze({ userId: 'dev', sessionId: 'dev' })

/** Creates the authenticator of a server from its `auth` settings. */
export function createAuthenticator({ auth, dev, now }: AuthenticatorOptions): Authenticator {
  if (auth !== undefined && dev === true)
    throw new SallyportError('USAGE', 'The server has "auth" and "dev: true", which answers without tokens.', {
      hint: 'Remove one of them.',
    })
  if (auth !== undefined) return new BearerAuthenticator(auth, now ?? Date.now)
  return dev === true ? DEV_AUTHENTICATOR : CLOSED_AUTHENTICATOR
}

const DEV_AUTHENTICATOR: Authenticator = {
  authenticate: async () => ({ identity: DEV_IDENTITY }),
  assertMayListen(host) {
    if (!isLoopback(host))
      throw new SallyportError('USAGE', `"dev" answers without tokens, on loopback only; got the host "${host}".`, {
        hint: 'Listen on 127.0.0.1, or give "auth" instead of "dev".',
      })
    console.error(
      `!! DEV MODE: no tokens are checked. Whoever reaches ${host} is the user "dev". Never use it in production.`,
    )
  },
}

const CLOSED_AUTHENTICATOR: Authenticator = {
  authenticate: async () => ({
    status: 401,
    wwwAuthenticate: 'Bearer realm="closed"',
    problem: 'This server has no way to identify its callers.',
  }),
  assertMayListen() {
    throw new SallyportError(
      'USAGE',
      'The server has neither "auth" nor "dev", so it cannot identify callers over HTTP.',
      {
        hint: 'Give createMcpServer { auth: { jwt: { … } } }, or { dev: true } to try it out on this machine without tokens.',
      },
    )
  },
}
