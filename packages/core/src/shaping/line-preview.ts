import type { FillDetail, FillLimits, FillSource } from './fill-budget.ts'
import { eachLine, HeadTailBuffer, type IndexedSpan, joinWithGaps } from './head-tail-buffer.ts'
import type { Ends, Preset } from './preset.ts'
import { type Preview, SCALES, scaleEnds, scaleLength } from './preview.ts'
import { cutMiddle, omissionMark } from './safe-cut.ts'

/** Lines that show the structure of a text. They are shown before others. */
export type IsLandmark = (line: string) => boolean

/** A longer line is never a landmark. */
const MAX_LANDMARK_LENGTH = 200

export const noLandmarks = (): IsLandmark => () => false

/** The headings of Markdown, except inside code fences. */
export function markdownHeadings(): IsLandmark {
  let fence: string | undefined
  return (line) => {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1]?.slice(0, 3)
    if (mark !== undefined && (fence === undefined || fence === mark)) fence = fence === undefined ? mark : undefined
    return fence === undefined && /^#{1,6} \S/.test(line)
  }
}

/** The top-level keys of YAML, and the separators of documents. */
export const yamlTopKeys = (): IsLandmark => (line) => /^(?:---|"?[\w.$-]{1,80}"?:(?:\s|$))/.test(line)

/** Smaller and smaller previews of lines: the first, the last, and landmarks between them. */
export function* linePreviews(text: string, preset: Preset, isLandmark: IsLandmark): Generator<Preview> {
  const lines = new Lines(text, preset.lines, isLandmark)
  for (const scale of SCALES) {
    const shown = lines.select(scaleEnds(preset.lines, scale))
    // If there are few lines, each may be longer.
    const share = Math.floor((preset.threshold * scale) / Math.max(1, shown.length))
    yield writeLines(text, { shown, count: lines.count, length: Math.max(scaleLength(scale), share) })
  }
}

/** The same lines, for a preview that fills its threshold. */
export function openLines(text: string, { maxParts, threshold }: FillLimits, isLandmark: IsLandmark): FillSource {
  const lines = new Lines(text, { head: maxParts, tail: maxParts }, isLandmark)
  return {
    maxParts: Math.min(lines.count, maxParts),
    innerScales: [1],
    canGrowInner: false,
    render: ({ ends: wanted, length }: FillDetail) => {
      const shown = lines.select(wanted)
      return isTooLong(shown, length, threshold) ? undefined : writeLines(text, { shown, count: lines.count, length })
    },
  }
}

/** Whether the parts are longer than a preview may be, even with each cut to its maximum. */
export function isTooLong(parts: readonly IndexedSpan[], maxLength: number, threshold: number): boolean {
  let total = 0
  for (const { start, end } of parts) {
    total += Math.min(end - start, maxLength)
    if (total > threshold) return true
  }
  return false
}

class Lines {
  readonly #buffer: HeadTailBuffer
  readonly #landmarks: IndexedSpan[] = []

  constructor(text: string, ends: Ends, isLandmark: IsLandmark) {
    const buffer = new HeadTailBuffer(ends)
    this.#buffer = buffer
    eachLine(text, (start, end) => {
      buffer.add(start, end)
      if (this.#landmarks.length === ends.head || end - start > MAX_LANDMARK_LENGTH) return
      if (isLandmark(text.slice(start, end))) this.#landmarks.push({ index: buffer.count - 1, start, end })
    })
  }

  get count(): number {
    return this.#buffer.count
  }

  select(ends: Ends): readonly IndexedSpan[] {
    return merged(this.#buffer.select(ends), this.#landmarks.slice(0, ends.head))
  }
}

function merged(ends: readonly IndexedSpan[], landmarks: readonly IndexedSpan[]): readonly IndexedSpan[] {
  const known = new Set(ends.map(({ index }) => index))
  const more = landmarks.filter(({ index }) => !known.has(index))
  return [...ends, ...more].sort((one, other) => one.index - other.index)
}

interface LineSelection {
  readonly shown: readonly IndexedSpan[]
  readonly count: number
  readonly length: number
}

function writeLines(text: string, { shown, count, length }: LineSelection): Preview {
  const body = joinWithGaps(shown, count, {
    write: ({ start, end }) => cutMiddle(text.slice(start, end), length),
    gap: (missing) => omissionMark(missing, 'line'),
  })
  const hasCuts = shown.some(({ start, end }) => end - start > length)
  return { text: body, omission: { noun: 'line', count: count - shown.length, of: count }, hasCuts }
}
