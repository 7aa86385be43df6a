import { createHash } from 'node:crypto'
import { ExpiringMap } from '@sallyport/core'

interface Cacheable<Value> {
  readonly value: Value
  /** Until when the value may be cached, in milliseconds since 1970. Missing for a refusal, which is not cached. */
  readonly until?: number
}

const MAX_CACHED = 1_000

/** Caches what tokens prove. A token is verified once, even if many requests send it at the same time. */
export class VerifiedTokens<Value> {
  readonly #verify: (token: string) => Promise<Cacheable<Value>>
  readonly #cache: ExpiringMap<Value>
  readonly #verifying = new Map<string, Promise<Value>>()

  constructor(verify: (token: string) => Promise<Cacheable<Value>>, now: () => number) {
    this.#verify = verify
    this.#cache = new ExpiringMap(MAX_CACHED, now)
  }

  /** A promise only if the token is not cached, so that a request with a known token is not delayed. */
  find(token: string): Value | Promise<Value> {
    // The key is a digest, so that no token stays in memory longer than its request.
    const key = createHash('sha256').update(token).digest('base64')
    const cached = this.#cache.get(key) ?? this.#verifying.get(key)
    if (cached !== undefined) return cached
    const verifying = this.#read(token, key).finally(() => this.#verifying.delete(key))
    this.#verifying.set(key, verifying)
    return verifying
  }

  async #read(token: string, key: string): Promise<Value> {
    const { value, until } = await this.#verify(token)
    if (until !== undefined) this.#cache.put(key, value, until)
    return value
  }
}
