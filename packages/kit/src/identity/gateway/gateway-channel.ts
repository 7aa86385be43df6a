import { createHash, timingSafeEqual } from 'node:crypto'
import { isLoopback, SallyportError } from '@sallyport/core'
import type { Authentication, Authenticator, RequestHeaders } from '../authenticator.ts'
import { type BearerAuthenticator, refuseBearer } from '../bearer-authenticator.ts'

export interface GatewayChannelOptions {
  readonly secret: string | undefined
  /** For direct callers. */
  readonly bearer: BearerAuthenticator | undefined
}

/** The gateway itself: its requests say for whom they are sent, or are for nobody. */
const FROM_GATEWAY: Authentication = { identity: undefined, takesCallers: true }

/**
 * Authenticates the channel over which the gateway sends caller tokens: whoever can read a token could send it again.
 * On loopback nobody else can; on any other address the gateway sends a secret.
 */
export class GatewayChannel implements Authenticator {
  readonly #secret: Buffer | undefined
  readonly #bearer: BearerAuthenticator | undefined

  constructor({ secret, bearer }: GatewayChannelOptions) {
    this.#secret = secret === undefined ? undefined : digest(secret)
    this.#bearer = bearer
  }

  async authenticate(headers: RequestHeaders): Promise<Authentication> {
    const { authorization } = headers
    if (this.#secret === undefined) {
      if (this.#bearer === undefined || authorization === undefined) return FROM_GATEWAY
      const direct = await this.#bearer.authenticate(headers)
      return 'identity' in direct ? { ...direct, takesCallers: true } : direct
    }
    if (isSecret(authorization, this.#secret)) return FROM_GATEWAY
    if (this.#bearer !== undefined) return this.#bearer.authenticate(headers)
    return authorization === undefined
      ? refuseBearer('The request carries no bearer token')
      : refuseBearer('The bearer token is not the secret of the gateway', 'invalid_token')
  }

  assertMayListen(host: string): void {
    if (this.#secret !== undefined || isLoopback(host)) return
    throw new SallyportError(
      'USAGE',
      `"auth.gateway" without a secret takes caller tokens on loopback only, because whoever reads a token could send it again; got the host "${host}".`,
      {
        hint: 'Listen on 127.0.0.1, behind a proxy with TLS if needed. Or set auth.gateway.secret here, and headers: { Authorization: "Bearer <the secret>" } for this server in the gateway\'s config.',
      },
    )
  }
}

/** The digests have the same length, and comparing them takes the same time for every header. */
function isSecret(authorization: RequestHeaders[string], secret: Buffer): boolean {
  const [header, ...others] = typeof authorization === 'string' ? [authorization] : (authorization ?? [])
  const sent = others.length === 0 ? /^bearer (\S+)$/i.exec(header ?? '')?.[1] : undefined
  return sent !== undefined && timingSafeEqual(digest(sent), secret)
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
