import { estimateTokens } from '../tokens.ts'
import { type ContentHints, type ContentKind, detectKind, findDelimiter } from './content-kind.ts'
import { csvPreviews } from './csv-preview.ts'
import { jsonPreviews } from './json-preview.ts'
import { linePreviews, markdownHeadings, noLandmarks, yamlTopKeys } from './line-preview.ts'
import { markupPreviews } from './markup-preview.ts'
import { ndjsonPreviews } from './ndjson-preview.ts'
import { formatNotice } from './notice.ts'
import type { Ends, Preset } from './preset.ts'
import type { Omission, Preview } from './preview.ts'
import { cutBefore, cutMiddleAndCount } from './safe-cut.ts'

export interface ShapingHints extends ContentHints {
  /** What the text was already found to be. */
  readonly kind?: ContentKind
  /** Under which the whole was saved. */
  readonly handle?: string
  /** How the whole is reached, as a sentence; absent: by the handle. */
  readonly rest?: string
}

export interface ShapedText {
  /** Never longer than the threshold, nor than what was given (ISO-15). */
  readonly text: string
  readonly kind: ContentKind
  /** It is what was given, untouched. */
  readonly isWhole: boolean
  /** The text without the notice: of JSON it is JSON. Of a whole text it is the text. */
  readonly preview: string
  /** The line that says what is missing; empty where nothing is. */
  readonly notice: string
  readonly omission: Omission | undefined
}

/** Cuts a text that is too long for a model to what tells most of it, and says what is missing. */
export function shapeText(text: string, preset: Preset, hints: ShapingHints = {}): ShapedText {
  const kind = hints.kind ?? detectKind(text, hints)
  if (text.length <= preset.threshold)
    return { text, kind, isWhole: true, preview: text, notice: '', omission: undefined }
  for (const preview of allPreviews(text, kind, preset)) {
    const shaped = preview && composeText(text, { kind, preview, hints })
    if (shaped !== undefined && fits(shaped.text, preset)) return shaped
  }
  return cutToFit(text, { kind, preset, hints })
}

/** Later ones of a filled preset would cut each part to a few letters, where fewer parts can be shown whole. */
const MAX_FILLED_TRIES = 5

function* allPreviews(text: string, kind: ContentKind, preset: Preset): Generator<Preview | undefined> {
  let tries = 0
  if (preset.fills)
    for (const preview of createPreviews(text, kind, fillPreset(preset))) {
      yield preview
      if (++tries === MAX_FILLED_TRIES) break
    }
  yield* createPreviews(text, kind, preset)
}

/** Shorter rows, lines and items are rare: with so many of them the threshold is reached. */
const MIN_PART_LENGTH = 27

function fillPreset(preset: Preset): Preset {
  const parts = Math.ceil(preset.threshold / MIN_PART_LENGTH)
  const more = ({ head, tail }: Ends): Ends => {
    const factor = Math.max(1, parts / Math.max(1, head + tail))
    return { head: Math.ceil(head * factor), tail: Math.ceil(tail * factor) }
  }
  const { rows, lines, items, keys } = preset
  return { ...preset, rows: more(rows), lines: more(lines), items: more(items), keys: Math.max(keys, parts) }
}

function createPreviews(text: string, kind: ContentKind, preset: Preset): Iterable<Preview | undefined> {
  switch (kind) {
    case 'json':
      return jsonPreviews(text, preset)
    case 'ndjson':
      return ndjsonPreviews(text, preset)
    case 'csv':
    case 'tsv':
      return tablePreviews(text, kind, preset)
    case 'html':
    case 'xml':
      return markupPreviews(text, preset)
    case 'markdown':
      return linePreviews(text, preset, markdownHeadings())
    case 'yaml':
      return linePreviews(text, preset, yamlTopKeys())
    case 'binary':
      return [{ text: '', omission: omitAll(text), hasCuts: false }]
    default:
      return linePreviews(text, preset, noLandmarks())
  }
}

const TAB = 0x09

/** What proves to be no table after all is a text. */
function* tablePreviews(text: string, kind: ContentKind, preset: Preset): Generator<Preview> {
  yield* csvPreviews(text, preset, kind === 'tsv' ? TAB : findDelimiter(text))
  yield* linePreviews(text, preset, noLandmarks())
}

const omitAll = (text: string): Omission => ({ noun: 'character', count: text.length, of: text.length })

interface Attempt {
  readonly kind: ContentKind
  readonly preview: Preview
  readonly hints: ShapingHints
}

function composeText(text: string, { kind, preview, hints }: Attempt): ShapedText {
  const notice = formatNotice({ kind, preview, length: text.length, hints })
  const { text: body, omission } = preview
  // Whatever reads the text as JSON can do so, and cannot take it for the whole.
  const whole = kind === 'json' ? `{"notice":${JSON.stringify(notice)},"preview":${body}}` : joined(notice, body)
  return { text: whole, kind, isWhole: false, preview: body, notice, omission }
}

const joined = (notice: string, body: string): string => (body === '' ? `[${notice}]` : `[${notice}]\n${body}`)

const fits = (text: string, { threshold, previewTokens }: Preset): boolean =>
  text.length <= threshold && estimateTokens(text) <= previewTokens

interface ShapingInput {
  readonly kind: ContentKind
  readonly preset: Preset
  readonly hints: ShapingHints
}

/** The last resort for what has no short lines, rows or items: its two ends, as much of them as fits. */
function cutToFit(text: string, { kind, preset, hints }: ShapingInput): ShapedText {
  for (let room = preset.threshold; room > MIN_CUT_LENGTH && kind !== 'json'; room = Math.floor(room * 0.7)) {
    const { text: body, omitted: count } = cutMiddleAndCount(text, room)
    const preview = { text: body, omission: { noun: 'character', count, of: text.length }, hasCuts: false } as const
    const shaped = composeText(text, { kind, preview, hints })
    if (fits(shaped.text, preset)) return shaped
  }
  return writeNoticeOnly(text, { kind, preset, hints })
}

const MIN_CUT_LENGTH = 60

/** Thresholds that no preset of `readPresets` has leave room for part of the notice, or for nothing. */
function writeNoticeOnly(text: string, { kind, preset: { threshold }, hints }: ShapingInput): ShapedText {
  const notice = formatNotice({ kind, length: text.length, hints })
  const line = kind === 'json' ? JSON.stringify({ notice }) : `[${notice}]`
  const bare = line.length <= threshold ? line : kind === 'json' ? '0' : line.slice(0, cutBefore(line, threshold))
  return { text: threshold > 0 ? bare : '', kind, isWhole: false, preview: '', notice, omission: omitAll(text) }
}
