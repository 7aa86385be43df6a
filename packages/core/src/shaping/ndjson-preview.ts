import { jsonEnd, skipSpace } from '../json/json.ts'
import { HeadTailBuffer, joinWithGaps, lineEnd } from './head-tail-buffer.ts'
import { JsonPreviewWriter, jsonDetail } from './json-preview.ts'
import type { Preset } from './preset.ts'
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
  const rows = new HeadTailBuffer(preset.rows)
  eachJsonLine(text, (start, end) => rows.add(start, end))
  const writer = new JsonPreviewWriter(text, preset)
  for (const scale of SCALES) yield writeRows(writer, { rows, preset, scale })
  const { count } = rows
  yield {
    text: JSON.stringify(omissionMark(count, 'row')),
    omission: { noun: 'row', count, of: count },
    hasCuts: false,
  }
}

interface RowSelection {
  readonly rows: HeadTailBuffer
  readonly preset: Preset
  readonly scale: number
}

function writeRows(writer: JsonPreviewWriter, { rows: buffer, preset, scale }: RowSelection): Preview | undefined {
  const shown = buffer.select(scaleEnds(preset.rows, scale))
  const rows = new Map<number, string>()
  let hasCuts = false
  let length = 0
  for (const row of shown) {
    const detail = jsonDetail(preset, scale)
    const value = writer.write(row.start, detail)
    length += value?.text.length ?? Number.POSITIVE_INFINITY
    if (value === undefined || length > preset.threshold) return undefined
    rows.set(row.index, value.text)
    hasCuts ||= value.hasCuts || writer.omissionAt(row.start, detail).count > 0
  }
  const text = joinWithGaps(shown, buffer.count, {
    write: ({ index }) => rows.get(index) ?? '',
    gap: (missing) => JSON.stringify(omissionMark(missing, 'row')),
  })
  return { text, omission: { noun: 'row', count: buffer.count - shown.length, of: buffer.count }, hasCuts }
}
