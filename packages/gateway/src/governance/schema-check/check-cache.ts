import type { CompiledSchema } from './ajv-schema.ts'

/** What is compiled takes some forty times the room of its text. */
const MAX_CHARACTERS = 2_000_000
const MAX_CHECKS = 500

/** Compiled schemas by digest. Those that were not needed for longest make room. */
export class CheckCache {
  readonly #checks = new Map<string, { readonly compiled: CompiledSchema; readonly size: number }>()
  #size = 0

  get(digest: string): CompiledSchema | undefined {
    const kept = this.#checks.get(digest)
    if (kept === undefined) return undefined
    this.#checks.delete(digest)
    this.#checks.set(digest, kept)
    return kept.compiled
  }

  set(digest: string, compiled: CompiledSchema, size: number): void {
    this.#checks.set(digest, { compiled, size })
    this.#size += size
    for (const [oldest, kept] of this.#checks) {
      if (this.#checks.size <= MAX_CHECKS && this.#size <= MAX_CHARACTERS) return
      this.#checks.delete(oldest)
      this.#size -= kept.size
    }
  }
}
