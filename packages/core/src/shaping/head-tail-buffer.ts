import type { Ends } from './preset.ts'

/** The span of one line, row or record, without the line break. */
export interface IndexedSpan {
  /** Zero-based. */
  readonly index: number
  readonly start: number
  readonly end: number
}

const LINE_FEED = 0x0a

/** Visits the lines of a text. After the last line break there is a line only if it is not empty. */
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

/** Retains the first and last spans, and counts all. There may be millions, so no object is created for each. */
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

  /** Spans are numbered in the order of the calls. */
  add(start: number, end: number): void {
    const index = this.#count++
    const { head, tail } = this.#ends
    if (index < head) this.#head.push({ index, start, end })
    else if (tail > 0) {
      this.#starts[index % tail] = start
      this.#stops[index % tail] = end
    }
  }

  /** The requested first and last spans, as far as they were retained, in order. */
  select({ head, tail }: Ends): readonly IndexedSpan[] {
    const retained = [...this.#head, ...this.#tail()]
    return retained.filter(({ index }) => index < head || index >= this.#count - tail)
  }

  #tail(): readonly IndexedSpan[] {
    const { head, tail } = this.#ends
    const first = Math.max(head, this.#count - tail)
    return Array.from({ length: Math.max(0, this.#count - first) }, (_, position) => {
      const index = first + position
      return { index, start: this.#starts[index % tail] ?? 0, end: this.#stops[index % tail] ?? 0 }
    })
  }
}

/** Writes spans one per line, and a mark with the number of missing ones into each gap. */
export function joinWithGaps(
  shown: readonly IndexedSpan[],
  count: number,
  { write, gap }: { readonly write: (span: IndexedSpan) => string; readonly gap: (missing: number) => string },
): string {
  const lines: string[] = []
  let next = 0
  for (const span of shown) {
    if (span.index > next) lines.push(gap(span.index - next))
    lines.push(write(span))
    next = span.index + 1
  }
  if (count > next) lines.push(gap(count - next))
  return lines.join('\n')
}
