import { MemberCursor } from '../json/json.ts'
import type { Ends } from './preset.ts'

/** One member of an object or item of an array, by its places in the text. */
export interface OutlineMember {
  readonly index: number
  /** Of the key's first quotation mark; -1 in an array. */
  readonly key: number
  readonly start: number
}

/** The beginning and the end of what an object or array holds. */
export interface JsonOutline {
  readonly count: number
  readonly head: readonly OutlineMember[]
  /** The last ones, without those of the head. */
  readonly tail: readonly OutlineMember[]
}

/**
 * The sketches of one text that is known to be JSON. Each is made when it is first looked at and kept, so that trying
 * previews of several sizes goes through each part of the text once.
 */
export class JsonOutlines {
  readonly #text: string
  readonly #ends: Ends
  readonly #outlines = new Map<number, JsonOutline>()

  constructor(text: string, ends: Ends) {
    this.#text = text
    this.#ends = ends
  }

  at(container: number): JsonOutline {
    const known = this.#outlines.get(container)
    if (known !== undefined) return known
    const sketch = this.#build(container)
    this.#outlines.set(container, sketch)
    return sketch
  }

  #build(container: number): JsonOutline {
    const { head: heads, tail: tails } = this.#ends
    const head: OutlineMember[] = []
    const starts: number[] = []
    const keys: number[] = []
    let count = 0
    for (const members = new MemberCursor(this.#text, container); members.next(); ) {
      const { key, start } = members
      const index = count++
      if (index < heads) head.push({ index, key, start })
      else if (tails > 0) {
        starts[index % tails] = start
        keys[index % tails] = key
      }
    }
    const first = Math.max(heads, count - tails)
    const tail = Array.from({ length: Math.max(0, count - first) }, (_, place) => {
      const index = first + place
      return { index, key: keys[index % tails] ?? -1, start: starts[index % tails] ?? 0 }
    })
    return { count, head, tail }
  }
}
