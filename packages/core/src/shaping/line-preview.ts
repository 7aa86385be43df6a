import { eachLine, HeadTailBuffer, type IndexedSpan, joinWithGaps } from './line-index.ts'
import type { Preset } from './preset.ts'
import { type Preview, SCALES, scaleEnds, scaleLength } from './preview.ts'
import { cutMiddle, omissionMark } from './safe-cut.ts'

/** The lines that tell how a text is built, and are kept before others. */
export type IsLandmark = (line: string) => boolean

/** No landmark is longer; a longer line is not looked at. */
const MAX_LANDMARK_LENGTH = 200

export const noLandmarks = (): IsLandmark => () => false

/** The headings of Markdown. A fence hides what looks like one. */
export function markdownHeadings(): IsLandmark {
  let fence: string | undefined
  return (line) => {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1]?.slice(0, 3)
    if (mark !== undefined && (fence === undefined || fence === mark)) fence = fence === undefined ? mark : undefined
    return fence === undefined && /^#{1,6} \S/.test(line)
  }
}

/** The keys of YAML that stand at the margin, and where one document ends and the next begins. */
export const yamlTopKeys = (): IsLandmark => (line) => /^(?:---|"?[\w.$-]{1,80}"?:(?:\s|$))/.test(line)

/** Ever smaller previews of lines: the first, the last, and landmarks between them. */
export function* linePreviews(text: string, preset: Preset, isLandmark: IsLandmark): Generator<Preview> {
  const keeper = new HeadTailBuffer(preset.lines)
  const landmarks: IndexedSpan[] = []
  eachLine(text, (start, end) => {
    keeper.add(start, end)
    if (landmarks.length === preset.lines.head || end - start > MAX_LANDMARK_LENGTH) return
    if (isLandmark(text.slice(start, end))) landmarks.push({ index: keeper.count - 1, start, end })
  })
  for (const scale of SCALES) {
    const ends = scaleEnds(preset.lines, scale)
    const shown = merged(keeper.select(ends), landmarks.slice(0, ends.head))
    // Few lines may be long ones: together they still fit.
    const share = Math.floor((preset.threshold * scale) / Math.max(1, shown.length))
    yield writeLines(text, { shown, count: keeper.count, length: Math.max(scaleLength(scale), share) })
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
