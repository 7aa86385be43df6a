import { generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto'
import type { Json, JsonObject } from '@sallyport/core'

export const SERVER_ID = 'records'

/** Seconds since 1970. */
export const now = (): number => Math.floor(Date.now() / 1_000)

const encode = (part: unknown): string => Buffer.from(JSON.stringify(part)).toString('base64url')

/** A gateway's key, made for one test. Its tokens are those that a gateway sends; `undefined` removes a claim. */
export class CallerSigner {
  readonly kid: string
  readonly #privateKey: KeyObject
  readonly #publicKey: KeyObject

  constructor(kid: string = randomUUID()) {
    this.kid = kid
    const { privateKey, publicKey } = generateKeyPairSync('ed25519')
    this.#privateKey = privateKey
    this.#publicKey = publicKey
  }

  get publicJwk(): JsonObject {
    return { ...(this.#publicKey.export({ format: 'jwk' }) as JsonObject), kid: this.kid, alg: 'EdDSA', use: 'sig' }
  }

  get privateJwk(): JsonObject {
    return { ...(this.#privateKey.export({ format: 'jwk' }) as JsonObject), kid: this.kid }
  }

  get publicPem(): string {
    return String(this.#publicKey.export({ format: 'pem', type: 'spki' }))
  }

  get keys(): { readonly keys: readonly JsonObject[] } {
    return { keys: [this.publicJwk] }
  }

  token(claims: JsonObject = {}, header: JsonObject = {}): string {
    return this.signText(
      encode({ alg: 'EdDSA', typ: 'sallyport-caller+jwt', kid: this.kid, ...header }),
      encode({ ...callerClaims(), ...claims }),
    )
  }

  /** Signs any two parts. */
  signText(header: string, payload: string): string {
    const body = `${header}.${payload}`
    return `${body}.${sign(undefined, Buffer.from(body), this.#privateKey).toString('base64url')}`
  }
}

/** The claims of a usual token. */
export function callerClaims(): JsonObject {
  return {
    ...{ iss: 'sallyport', aud: SERVER_ID, sub: 'ada', session: 'work', agent: 'claude-code', profile: 'default' },
    ...{ permissions: ['READ', 'WRITE', 'CONNECT'], label: 'PUBLIC', private: false, shapes: true },
    ...{ iat: now(), exp: now() + 60, jti: randomUUID() },
  }
}

/** The `_meta` of a request with this token. */
export const withToken = (token: Json): { readonly _meta: JsonObject } => ({ _meta: { 'sallyport/caller': token } })
