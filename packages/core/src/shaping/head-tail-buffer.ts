import type { Ends } from './preset.ts'

/** One line, row or record by its places in a text. Ends exclude the line break. */
export interface IndexedSpan {
  /** From 0. */
  readonly index: number
  readonly start: number
  readonly end: number
}

const LINE_FEED = 0x0a

/** Goes through the lines of a text. What follows the last line break is a line only if there is something. */
export function eachLine(text: string, visit: (start: number, end: number) => void): void {
  for (let start = 0; start < text.length; ) {
    const end = lineEnd(text, start)
    visit(start, end)
    start = end + 1
  }
}

export function lineEnd(text: string, from: number): number {
  let at = from
  while (at < text.length && text.charCodeAt(at) !== LINE_FEED) at++
  return at
}

/** Keeps the beginning and the end of whatever it is given, and counts it all. There may be millions: nothing is made for each. */
export class HeadTailBuffer {
  readonly #ends: Ends
  readonly #head: IndexedSpan[] = []
  readonly #starts: number[] = []
  readonly #stops: number[] = []
  #count = 0

  constructor(ends: Ends) {
    this.#ends = ends
  }

  get count(): number {
    return this.#count
  }

  /** The stretch is numbered here, in the order of the calls. */
  add(start: number, end: number): void {
    const index = this.#count++
    const { head, tail } = this.#ends
    if (index < head) this.#head.push({ index, start, end })
    else if (tail > 0) {
      this.#starts[index % tail] = start
      this.#stops[index % tail] = end
    }
  }

  /** Of what was kept, as much as is asked for, in order. */
  select({ head, tail }: Ends): readonly IndexedSpan[] {
    const kept = [...this.#head, ...this.#tail()]
    return kept.filter(({ index }) => index < head || index >= this.#count - tail)
  }

  #tail(): readonly IndexedSpan[] {
    const { head, tail } = this.#ends
    const first = Math.max(head, this.#count - tail)
    return Array.from({ length: Math.max(0, this.#count - first) }, (_, place) => {
      const index = first + place
      return { index, start: this.#starts[index % tail] ?? 0, end: this.#stops[index % tail] ?? 0 }
    })
  }
}

/** Writes stretches one per line, and in each gap between them how many are missing. */
export function joinWithGaps(
  shown: readonly IndexedSpan[],
  count: number,
  { write, gap }: { readonly write: (stretch: IndexedSpan) => string; readonly gap: (missing: number) => string },
): string {
  const lines: string[] = []
  let next = 0
  for (const stretch of shown) {
    if (stretch.index > next) lines.push(gap(stretch.index - next))
    lines.push(write(stretch))
    next = stretch.index + 1
  }
  if (count > next) lines.push(gap(count - next))
  return lines.join('\n')
}
