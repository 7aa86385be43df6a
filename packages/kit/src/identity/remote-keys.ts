import { isJsonDeeperThan, MAX_DEPTH, SallyportError } from '@sallyport/core'
import type { FlattenedJWSInput, JSONWebKeySet, JWSHeaderParameters } from 'jose'

type Jose = typeof import('jose')
type KeySet = ReturnType<Jose['createLocalJWKSet']>

export interface RemoteKeysOptions {
  readonly url: string
  readonly now: () => number
  /** What the operator can do when the keys cannot be fetched. */
  readonly keysHint: string
}

/** After this the keys are fetched again, so that a revoked key is no longer accepted. */
const MAX_AGE_MS = 10 * 60_000
/** An issuer that is down for a moment must not lock everybody out. */
const MAX_STALE_MS = 60 * 60_000
/** An unknown key id may mean that keys were rotated, but many of them must not cause many fetches. */
const MISS_COOL_DOWN_MS = 10_000
const FAILURE_COOL_DOWN_MS = 3_000
const FETCH_TIMEOUT_MS = 5_000
const MAX_BYTES = 512 * 1024

/** An issuer's published keys: fetched when first needed, cached, and fetched again when a token names an unknown key. */
export class RemoteKeys {
  readonly #options: RemoteKeysOptions
  readonly #jose: Jose
  #keys: KeySet | undefined
  #fetchedAt = Number.NEGATIVE_INFINITY
  #failedAt = Number.NEGATIVE_INFINITY
  #missedAt = Number.NEGATIVE_INFINITY
  #failure: unknown
  #pending: Promise<void> | undefined

  constructor(jose: Jose, options: RemoteKeysOptions) {
    this.#jose = jose
    this.#options = options
  }

  /** Finds the key for this header. Throws jose's error if the key is missing, and OVERLOADED if the keys cannot be fetched. */
  async find(header: JWSHeaderParameters, token: FlattenedJWSInput) {
    if (this.#age() >= MAX_AGE_MS) await this.#refresh()
    try {
      return await this.#requireKeys()(header, token)
    } catch (error) {
      if (!(error instanceof this.#jose.errors.JWKSNoMatchingKey) || !this.#mayRefetch()) throw error
      await this.#refresh()
      return await this.#requireKeys()(header, token)
    }
  }

  #age(): number {
    return this.#options.now() - this.#fetchedAt
  }

  /** True once per cool-down, and for all callers while that one fetch is in flight. */
  #mayRefetch(): boolean {
    if (this.#pending !== undefined) return true
    if (this.#options.now() - this.#missedAt < MISS_COOL_DOWN_MS) return false
    this.#missedAt = this.#options.now()
    return true
  }

  #requireKeys(): KeySet {
    if (this.#keys !== undefined && this.#age() < MAX_STALE_MS) return this.#keys
    throw new SallyportError('OVERLOADED', `The keys at ${this.#options.url} could not be fetched.`, {
      hint: this.#options.keysHint,
      cause: this.#failure,
    })
  }

  async #refresh(): Promise<void> {
    if (this.#pending === undefined && this.#options.now() - this.#failedAt < FAILURE_COOL_DOWN_MS) return
    this.#pending ??= this.#load().finally(() => {
      this.#pending = undefined
    })
    await this.#pending
  }

  async #load(): Promise<void> {
    try {
      this.#keys = this.#jose.createLocalJWKSet(await fetchKeySet(this.#options.url))
      this.#fetchedAt = this.#options.now()
      this.#failure = undefined
    } catch (error) {
      this.#failure = error
      this.#failedAt = this.#options.now()
    }
  }
}

/** A redirect is an error: the keys must come from the URL that the operator gave. */
async function fetchKeySet(url: string): Promise<JSONWebKeySet> {
  const response = await fetch(url, {
    redirect: 'error',
    headers: { accept: 'application/jwk-set+json, application/json' },
    signal: AbortSignal.timeout(FETCH_TIMEOUT_MS),
  })
  if (response.status !== 200) {
    await response.body?.cancel()
    throw new SallyportError(
      'UPSTREAM_PROTOCOL',
      `The request for the key set was answered with ${response.status} instead of 200.`,
    )
  }
  const text = await readLimited(response)
  if (isJsonDeeperThan(text, MAX_DEPTH))
    throw new SallyportError('UPSTREAM_PROTOCOL', `The key set is nested deeper than ${MAX_DEPTH} levels.`)
  return JSON.parse(text) as JSONWebKeySet
}

async function readLimited(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    if (size > MAX_BYTES)
      throw new SallyportError('UPSTREAM_TOO_LARGE', `The key set is larger than ${MAX_BYTES} bytes.`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
