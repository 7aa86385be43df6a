import { CALLER_META, isJsonObject, type JsonObject } from '@sallyport/core'
import type { EncodedRequest } from '../transport.ts'
import { encodeRequest, type Sender } from './encode-request.ts'

/** A connection whose server can verify caller tokens, if it declares that it takes them. */
export interface TokenAudience {
  /** The server's id in the configuration. */
  readonly server: string
  /** The newest key that its program got when it started; `undefined` for a server that reads the published keys. */
  readonly keyId: string | undefined
}

/** The caller of a request. It returns the same token as long as that is valid and still true. */
export interface CallerIdentity {
  tokenFor(audience: TokenAudience): string
}

/** Whether the server declares that it takes caller tokens. */
export const takesCallerTokens = ({ experimental }: JsonObject): boolean =>
  isJsonObject(experimental) && isJsonObject(experimental[CALLER_META])

export interface IdentifiedRequest extends Pick<EncodedRequest, 'id' | 'call'> {
  readonly caller: CallerIdentity
  readonly audience: TokenAudience
  readonly sender: Sender
}

/**
 * Encodes a request with the token of its caller. It may wait before it is written: the returned function encodes it
 * again if the token has expired or the label of the session was raised meanwhile.
 */
export function encodeIdentified({ id, call, caller, audience, sender }: IdentifiedRequest): () => string {
  let token: string | undefined
  let text = ''
  return () => {
    const current = caller.tokenFor(audience)
    if (current === token) return text
    token = current
    text = encodeRequest(id, call, { ...sender, callerToken: token })
    return text
  }
}
