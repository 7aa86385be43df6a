import type { AuthOptions } from '@sallyport/kit'
import { SignJWT } from 'jose'

export interface TokenOwner {
  readonly user: string
  /** Default: the default session of that user. */
  readonly session?: string | undefined
}

/** Only for trials: in production an identity provider signs tokens, and servers have only its public keys. */
export function mintToken(auth: AuthOptions | undefined, { user, session }: TokenOwner): Promise<string> {
  return new SignJWT({ sub: user, ...(session !== undefined && { session_id: session }) })
    .setProtectedHeader({ alg: 'HS256' })
    .setAudience('records')
    .setExpirationTime('1h')
    .sign(new TextEncoder().encode(auth?.jwt?.secret))
}
