import { jsonEnd, skipSpace } from '../json/json.ts'
import type { FillLimits, FillSource } from './fill-budget.ts'
import { HeadTailBuffer, type IndexedSpan, joinWithGaps, lineEnd } from './head-tail-buffer.ts'
import { type Detail, INNER_SCALES, JsonPreviewWriter, jsonDetail } from './json-preview.ts'
import type { Ends, Preset } from './preset.ts'
import { type Preview, SCALES, scaleEnds } from './preview.ts'
import { omissionMark } from './safe-cut.ts'

/** Visits all lines that are not blank. False as soon as one of them is not a JSON value. */
export function eachJsonLine(text: string, visit: (start: number, end: number) => void): boolean {
  for (let start = skipSpace(text, 0); start < text.length; ) {
    const line = lineEnd(text, start)
    const end = jsonEnd(text, start)
    if (end < 0 || end > line || skipSpace(text, end) < line) return false
    visit(start, end)
    start = skipSpace(text, line)
  }
  return true
}

/** Smaller and smaller previews of JSON lines. Each preview is JSON lines too. */
export function* ndjsonPreviews(text: string, preset: Preset): Generator<Preview | undefined> {
  const rows = collectRows(text, preset.rows)
  const writer = new JsonPreviewWriter(text, preset)
  const { threshold } = preset
  for (const scale of SCALES) {
    const shown = rows.select(scaleEnds(preset.rows, scale))
    yield writeRows(writer, { shown, count: rows.count, detail: jsonDetail(preset, scale), threshold })
  }
  const { count } = rows
  yield {
    text: JSON.stringify(omissionMark(count, 'row')),
    omission: { noun: 'row', count, of: count },
    hasCuts: false,
  }
}

/** The same rows, for a preview that fills its threshold. */
export function openJsonLines(text: string, preset: Preset, { maxParts, threshold }: FillLimits): FillSource {
  const rows = collectRows(text, { head: maxParts, tail: maxParts })
  const writer = new JsonPreviewWriter(text, { ...preset, items: { head: threshold, tail: preset.items.tail } })
  return {
    maxParts: Math.max(1, Math.min(rows.count, maxParts)),
    innerScales: INNER_SCALES,
    canGrowInner: true,
    render: ({ ends: wanted, length, inner }) => {
      const detail = jsonDetail(preset, inner, length)
      return writeRows(writer, { shown: rows.select(wanted), count: rows.count, detail, threshold })
    },
  }
}

function collectRows(text: string, ends: Ends): HeadTailBuffer {
  const rows = new HeadTailBuffer(ends)
  eachJsonLine(text, (start, end) => rows.add(start, end))
  return rows
}

interface RowSelection {
  readonly shown: readonly IndexedSpan[]
  readonly count: number
  readonly detail: Detail
  readonly threshold: number
}

function writeRows(writer: JsonPreviewWriter, { shown, count, detail, threshold }: RowSelection): Preview | undefined {
  const rows = new Map<number, string>()
  let hasCuts = false
  let length = 0
  for (const row of shown) {
    const value = writer.write(row.start, detail)
    length += value?.text.length ?? Number.POSITIVE_INFINITY
    if (value === undefined || length > threshold) return undefined
    rows.set(row.index, value.text)
    hasCuts ||= value.hasCuts || writer.omissionAt(row.start, detail).count > 0
  }
  const text = joinWithGaps(shown, count, {
    write: ({ index }) => rows.get(index) ?? '',
    gap: (missing) => JSON.stringify(omissionMark(missing, 'row')),
  })
  return { text, omission: { noun: 'row', count: count - shown.length, of: count }, hasCuts }
}
