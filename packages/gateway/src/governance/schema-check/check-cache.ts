import type { CompiledSchema } from './ajv-schema.ts'

/** A compiled schema takes about forty times the memory of its text. */
const MAX_CHARACTERS = 2_000_000
const MAX_CHECKS = 500

/** A cache of compiled schemas by digest. The least recently used are removed first. */
export class CheckCache {
  readonly #checks = new Map<string, { readonly compiled: CompiledSchema; readonly size: number }>()
  #size = 0

  get(digest: string): CompiledSchema | undefined {
    const cached = this.#checks.get(digest)
    if (cached === undefined) return undefined
    this.#checks.delete(digest)
    this.#checks.set(digest, cached)
    return cached.compiled
  }

  set(digest: string, compiled: CompiledSchema, size: number): void {
    this.#checks.set(digest, { compiled, size })
    this.#size += size
    for (const [oldest, cached] of this.#checks) {
      if (this.#checks.size <= MAX_CHECKS && this.#size <= MAX_CHARACTERS) return
      this.#checks.delete(oldest)
      this.#size -= cached.size
    }
  }
}
