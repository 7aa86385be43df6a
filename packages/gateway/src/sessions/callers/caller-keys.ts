import { createPrivateKey, type KeyObject, sign } from 'node:crypto'
import { CALLER_TOKEN_HEADER, messageOf, SallyportError } from '@sallyport/core'
import { type CallerKeyFileOptions, openCallerKeys } from './caller-key-file.ts'
import { type CallerKey, findSigningKey } from './caller-key-set.ts'

export interface CallerKeysOptions extends CallerKeyFileOptions {
  readonly onWarning: (text: string) => void
}

/** The public keys at one moment. */
export interface PublishedKeys {
  /** A JSON Web Key Set (RFC 7517), without private parts. */
  readonly jwks: string
  /** The newest of them: a server that got all of these accepts it. */
  readonly newest: string
}

interface Signer {
  readonly key: KeyObject
  /** The header of its tokens, encoded. */
  readonly header: string
}

/** The file is read again after this time: another gateway may have added a key. */
const MAX_AGE_MS = 60_000
/** The same for everybody who asks for the published keys, which needs no token. */
const MAX_PUBLISHED_AGE_MS = 5_000

/** The keys that sign caller tokens. Nothing is read or created before the first use. */
export class CallerKeys {
  readonly #options: CallerKeysOptions
  /** Also those that were removed from the file: a running program may know no other. */
  readonly #signers = new Map<string, Signer>()
  #keys: readonly CallerKey[] = []
  #readAt = Number.NEGATIVE_INFINITY
  #reading: Promise<readonly CallerKey[]> | undefined

  constructor(options: CallerKeysOptions) {
    this.#options = options
  }

  /** For a server that starts: the keys as they are in the file now. */
  async publish(maxAgeMs = 0): Promise<PublishedKeys> {
    const isRecent = this.#options.now() - this.#readAt <= maxAgeMs
    const keys = isRecent && this.#keys.length > 0 ? this.#keys : await this.#read()
    return { jwks: formatKeySet(keys), newest: (keys.at(-1) as CallerKey).kid }
  }

  /** The same for the public address, where anybody may ask often. */
  readonly publishRecent = (): Promise<PublishedKeys> => this.publish(MAX_PUBLISHED_AGE_MS)

  /** Signs the claims of a token with this key, or with the one that currently signs. */
  sign(claims: object, keyId: string | undefined): string {
    const { key, header } = this.#findSigner(keyId ?? this.#currentKeyId())
    const input = `${header}.${encode(JSON.stringify(claims))}`
    return `${input}.${sign(undefined, Buffer.from(input), key).toString('base64url')}`
  }

  #currentKeyId(): string {
    const now = this.#options.now()
    if (now - this.#readAt > MAX_AGE_MS) this.#refresh(now)
    const current = findSigningKey(this.#keys, now)
    if (current === undefined) throw notLoaded()
    return current.kid
  }

  /** In the background: no call waits for it. */
  #refresh(now: number): void {
    this.#readAt = now
    void this.#read().catch((error: unknown) => this.#options.onWarning(messageOf(error)))
  }

  #read(): Promise<readonly CallerKey[]> {
    this.#reading ??= openCallerKeys(this.#options)
      .then((keys) => {
        for (const key of keys) if (!this.#signers.has(key.kid)) this.#signers.set(key.kid, toSigner(key))
        this.#readAt = this.#options.now()
        this.#keys = keys
        return keys
      })
      .finally(() => {
        this.#reading = undefined
      })
    return this.#reading
  }

  #findSigner(keyId: string): Signer {
    const signer = this.#signers.get(keyId)
    if (signer === undefined) throw notLoaded()
    return signer
  }
}

const encode = (text: string): string => Buffer.from(text).toString('base64url')

const toSigner = ({ kid, jwk }: CallerKey): Signer => ({
  key: createPrivateKey({ key: { ...jwk }, format: 'jwk' }),
  header: encode(`${CALLER_TOKEN_HEADER}${kid}"}`),
})

const formatKeySet = (keys: readonly CallerKey[]): string =>
  JSON.stringify({
    keys: keys.map(({ kid, jwk: { kty, crv, x } }) => ({ kty, crv, x, kid, alg: 'EdDSA', use: 'sig' })),
  })

/** A connection is opened only after the keys were read. */
const notLoaded = (): SallyportError =>
  new SallyportError('INTERNAL', 'A caller token was needed before the keys were read.')
