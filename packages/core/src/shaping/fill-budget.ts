import type { Ends } from './preset.ts'
import type { Preview } from './preview.ts'

/** How much of a text one attempt at a preview shows. */
export interface FillDetail {
  readonly ends: Ends
  /** The maximum length of one line, cell or string. */
  readonly length: number
  /** Scales what is shown inside of each part: columns of a row, nested lists and objects. */
  readonly inner: number
}

/** The limits of a filled preview. */
export interface FillLimits {
  readonly threshold: number
  /** The maximum number of lines, rows or other parts. */
  readonly maxParts: number
}

/** A text of which more or less can be shown. */
export interface FillSource {
  /** How many parts it has, or could be shown at most. */
  readonly maxParts: number
  /** From the most detailed on. */
  readonly innerScales: readonly number[]
  /** Whether more detail inside of parts may be tried after the number of parts is known. */
  readonly canGrowInner: boolean
  /** May be `undefined` if it would be too long. */
  render(detail: FillDetail): Preview | undefined
}

const FEW_PARTS = 3
const MAX_FIRST_LENGTH = 400
const MIN_FIRST_LENGTH = 24
/** A search ends when it is this close to the largest number that fits. */
const PRECISION = 0.01
/** With this share of the threshold, a preview is full: looking for more would cost more than it gives. */
const FULL_SHARE = 0.97

interface ShownText {
  readonly text: string
}

interface FillOptions<Shown extends ShownText> {
  readonly threshold: number
  /** How parts are divided between the beginning and the end. */
  readonly ratio: Ends
  /** `undefined` if the preview does not fit. */
  readonly attempt: (preview: Preview) => Shown | undefined
}

/**
 * Shows as much as fits: first as many parts as possible with long ones cut, then more inside of them, then longer ones.
 * `undefined` if not even a few short parts fit.
 */
export function fillBudget<Shown extends ShownText>(
  source: FillSource,
  options: FillOptions<Shown>,
): Shown | undefined {
  const fill = new BudgetFill(source, options)
  if (!fill.begin()) return undefined
  fill.growParts()
  if (source.canGrowInner) fill.growInner()
  fill.growLength()
  return fill.shown
}

class BudgetFill<Shown extends ShownText> {
  shown: Shown | undefined
  readonly #source: FillSource
  readonly #options: FillOptions<Shown>
  #parts = 1
  #length = MIN_FIRST_LENGTH
  #inner = 1

  constructor(source: FillSource, options: FillOptions<Shown>) {
    this.#source = source
    this.#options = options
  }

  begin(): boolean {
    const first = Math.min(MAX_FIRST_LENGTH, Math.floor(this.#options.threshold / 8))
    const { maxParts, innerScales } = this.#source
    for (const parts of new Set([Math.min(FEW_PARTS, maxParts), 1]))
      for (const length of new Set([first, Math.floor(first / 4), MIN_FIRST_LENGTH]))
        for (const inner of innerScales) if (this.#try({ parts, length, inner })) return true
    return false
  }

  growParts(): void {
    const { maxParts } = this.#source
    this.#grow(this.#parts, maxParts, (parts) => this.#try({ parts, length: this.#length, inner: this.#inner }))
  }

  growInner(): void {
    const { threshold } = this.#options
    this.#grow(this.#inner * 100, threshold * 100, (inner) =>
      this.#try({ parts: this.#parts, length: this.#length, inner: inner / 100 }),
    )
  }

  growLength(): void {
    // A cut string shows two thirds of its length at its beginning, and at its end not always a third.
    const max = 2 * this.#options.threshold
    this.#grow(this.#length, max, (length) => this.#try({ parts: this.#parts, length, inner: this.#inner }))
  }

  /** Tries whole numbers up to `max` until the preview is full or the largest that fits is nearly found; `known` fits. */
  #grow(known: number, max: number, fits: (value: number) => boolean): void {
    let low = Math.ceil(known)
    let high = Math.floor(max)
    if (this.#isFull() || high <= low || fits(high)) return
    while (high - low > Math.max(1, low * PRECISION) && !this.#isFull()) {
      // The range spans several orders of magnitude.
      const middle = Math.min(high - 1, Math.max(low + 1, Math.floor(Math.sqrt(low * high))))
      if (fits(middle)) low = middle
      else high = middle
    }
  }

  #isFull(): boolean {
    return (this.shown?.text.length ?? 0) >= this.#options.threshold * FULL_SHARE
  }

  /** What fits is retained. */
  #try({ parts, length, inner }: { readonly parts: number; readonly length: number; readonly inner: number }): boolean {
    const { ratio, attempt } = this.#options
    const preview = this.#source.render({ ends: divide(parts, ratio), length, inner })
    const shown = preview && attempt(preview)
    if (shown === undefined) return false
    this.shown = shown
    this.#parts = parts
    this.#length = length
    this.#inner = inner
    return true
  }
}

/** At least one part at the beginning, so that no preview is empty. */
export function divide(parts: number, { head, tail }: Ends): Ends {
  const share = head + tail === 0 ? 1 : head / (head + tail)
  const first = Math.min(parts, Math.max(1, Math.ceil(parts * share)))
  return { head: first, tail: parts - first }
}
