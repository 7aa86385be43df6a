import { isLoopback, SallyportError } from '@sallyport/core'
import { BearerAuthenticator } from './bearer-authenticator.ts'
import { GatewayChannel } from './gateway/gateway-channel.ts'
import type { GatewayAuthOptions, GatewaySettings } from './gateway/gateway-options.ts'
import type { JwtOptions } from './jwt-options.ts'
import type { Identity } from './request-scope.ts'

/** The headers of a request in Node's format, names in lower case. */
export type RequestHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

/** The caller's identity, or how to refuse the request. The texts never contain any part of a token. */
export type Authentication =
  /** `expiresAt` in milliseconds since 1970: an accepted stream ends then. With `takesCallers`, tokens of the gateway are accepted too. */
  | { readonly identity: Identity; readonly expiresAt?: number; readonly takesCallers?: boolean }
  /** The gateway. Each of its requests has a token that says who calls, or is for nobody. */
  | { readonly identity: undefined; readonly takesCallers: true; readonly expiresAt?: undefined }
  | { readonly status: 401; readonly wwwAuthenticate: string; readonly problem: string }
  /** The token cannot be verified at the moment: the issuer's keys could not be fetched. */
  | { readonly status: 503; readonly retryAfterSeconds: number; readonly problem: string }

/** Decides who sends a request. */
export interface Authenticator {
  authenticate(headers: RequestHeaders): Promise<Authentication>
  /** Throws if requests to this address must not be served with these settings. Called before listening. */
  assertMayListen(host: string): void
}

/** How callers prove who they are: with their own tokens over HTTP, or with those of the gateway. At least one is given. */
export interface AuthOptions {
  readonly jwt?: JwtOptions | undefined
  /** The server runs behind the gateway, which says who calls. `true`: the gateway starts it and gives it the keys. */
  readonly gateway?: true | GatewayAuthOptions | undefined
  /** The URL where clients learn how to get a token (RFC 9728); part of every refusal. */
  readonly resourceMetadata?: string | undefined
}

export interface AuthenticatorOptions {
  readonly auth?: AuthOptions | undefined
  /** Every caller is the same user "dev", without a token: for trials, on loopback only. */
  readonly dev?: boolean | undefined
  /** `auth.gateway`, validated. */
  readonly gateway?: GatewaySettings | undefined
  readonly now?: () => number
}

const DEV_IDENTITY: Identity = Object.freeze({ userId: 'dev', sessionId: 'dev' })

/** Creates the authenticator of a server from its `auth` settings. */
export function createAuthenticator({ auth, dev, gateway, now = Date.now }: AuthenticatorOptions): Authenticator {
  if (auth !== undefined && dev === true)
    throw new SallyportError('USAGE', 'The server has "auth" and "dev: true", which answers without tokens.', {
      hint: 'Remove one of them.',
    })
  if (auth !== undefined) return createFromAuth(auth, gateway, now)
  return dev === true ? DEV_AUTHENTICATOR : CLOSED_AUTHENTICATOR
}

function createFromAuth(
  { jwt, resourceMetadata }: AuthOptions,
  gateway: GatewaySettings | undefined,
  now: () => number,
): Authenticator {
  const bearer = jwt && new BearerAuthenticator({ jwt, resourceMetadata, now })
  if (gateway !== undefined) return new GatewayChannel({ secret: gateway.secret, bearer })
  if (bearer !== undefined) return bearer
  throw new SallyportError('CONFIG_INVALID', 'The server has "auth" with neither "jwt" nor "gateway".', {
    hint: 'Give auth: { jwt: { … } } for direct callers, auth: { gateway: true } behind the gateway, or both.',
  })
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
