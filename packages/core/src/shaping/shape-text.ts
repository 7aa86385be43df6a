import { estimateTokens } from '../text/estimate-tokens.ts'
import { type ContentHints, type ContentKind, detectKind, findDelimiter } from './content-kind.ts'
import { csvPreviews, openTable } from './csv-preview.ts'
import { type FillSource, fillBudget } from './fill-budget.ts'
import { jsonPreviews, openJson } from './json-preview.ts'
import { type IsLandmark, linePreviews, markdownHeadings, noLandmarks, openLines, yamlTopKeys } from './line-preview.ts'
import { markupPreviews, openMarkup } from './markup-preview.ts'
import { ndjsonPreviews, openJsonLines } from './ndjson-preview.ts'
import type { Preset } from './preset.ts'
import type { Omission, Preview } from './preview.ts'
import { cutBefore, cutMiddleAndCount, formatCount, groupDigits } from './safe-cut.ts'

export interface ShapingHints extends ContentHints {
  /** The kind of the text, if it is known already. */
  readonly kind?: ContentKind
  /** The handle of the saved whole text. */
  readonly handle?: string
  /** A sentence that says how to get the whole text. If missing, the handle is used. */
  readonly rest?: string
}

export interface ShapedText {
  /** Never longer than the threshold or the original (ISO-15). */
  readonly text: string
  readonly kind: ContentKind
  /** It is the unchanged original. */
  readonly isWhole: boolean
  /** The text without the notice. For JSON it is valid JSON. For a whole text it is the text itself. */
  readonly preview: string
  /** The line that says what is missing; empty if nothing is. */
  readonly notice: string
  readonly omission: Omission | undefined
}

/** Shortens a text that is too long for a model to its most useful parts, and says what is missing. */
export function shapeText(text: string, preset: Preset, hints: ShapingHints = {}): ShapedText {
  const kind = hints.kind ?? detectKind(text, hints)
  if (text.length <= preset.threshold)
    return { text, kind, isWhole: true, preview: text, notice: '', omission: undefined }
  const filled = preset.fills ? fill(text, kind, { preset, hints }) : undefined
  if (filled !== undefined) return filled
  for (const preview of createPreviews(text, kind, preset)) {
    const shaped = preview && composeText(text, { kind, preview, hints })
    if (shaped !== undefined && fits(shaped.text, preset)) return shaped
  }
  return cutToFit(text, { kind, preset, hints })
}

/** Fewer characters each are rare, even in a list of numbers. */
const MIN_PART_LENGTH = 2

/** As much as the threshold allows; `undefined` if the text has no parts of which a few fit. */
function fill(text: string, kind: ContentKind, { preset, hints }: Omit<ShapingInput, 'kind'>): ShapedText | undefined {
  const parts = Math.max(1, Math.floor(preset.threshold / MIN_PART_LENGTH))
  const lines = Math.min(parts, preset.maxLines ?? parts)
  const source = openSource(text, kind, { preset, parts, lines })
  return (
    source &&
    fillBudget(source, {
      threshold: preset.threshold,
      ratio: preset.lines,
      attempt: (preview) => {
        const shaped = composeText(text, { kind, preview, hints })
        return fits(shaped.text, preset) ? shaped : undefined
      },
    })
  )
}

interface SourceOptions {
  readonly preset: Preset
  /** The maximum number of parts, and of lines. */
  readonly parts: number
  readonly lines: number
}

function openSource(text: string, kind: ContentKind, { preset, parts, lines }: SourceOptions): FillSource | undefined {
  const { threshold } = preset
  const limits = { maxParts: lines, threshold }
  switch (kind) {
    case 'json':
      return openJson(text, preset, { maxParts: parts })
    case 'ndjson':
      return openJsonLines(text, preset, limits)
    case 'csv':
    case 'tsv': {
      const delimiter = kind === 'tsv' ? TAB : findDelimiter(text)
      return openTable({ text, delimiter }, limits) ?? openLines(text, limits, noLandmarks())
    }
    case 'html':
    case 'xml':
      return openMarkup(text, { maxParts: parts, threshold })
    case 'binary':
      return undefined
    default:
      return openLines(text, limits, findLandmarks(kind))
  }
}

const findLandmarks = (kind: ContentKind): IsLandmark =>
  kind === 'markdown' ? markdownHeadings() : kind === 'yaml' ? yamlTopKeys() : noLandmarks()

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
    case 'binary':
      return [{ text: '', omission: omitAll(text), hasCuts: false }]
    default:
      return linePreviews(text, preset, findLandmarks(kind))
  }
}

const TAB = 0x09

/** If it is not a table after all, it is previewed as text. */
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
  // The text can still be parsed as JSON, but cannot be mistaken for the whole.
  const whole = kind === 'json' ? `{"notice":${JSON.stringify(notice)},"preview":${body}}` : joined(notice, body)
  return { text: whole, kind, isWhole: false, preview: body, notice, omission }
}

const joined = (notice: string, body: string): string => (body === '' ? `[${notice}]` : `[${notice}]\n${body}`)

const fits = (text: string, { threshold, previewTokens }: Preset): boolean =>
  text.length <= threshold && (previewTokens === Number.POSITIVE_INFINITY || estimateTokens(text) <= previewTokens)

interface ShapingInput {
  readonly kind: ContentKind
  readonly preset: Preset
  readonly hints: ShapingHints
}

/** The last resort for a text without short lines, rows or items: as much of both ends as fits. */
function cutToFit(text: string, { kind, preset, hints }: ShapingInput): ShapedText {
  for (let room = preset.threshold; room > MIN_CUT_LENGTH && kind !== 'json'; room = Math.floor(room * 0.9)) {
    const { text: body, omitted: count } = cutMiddleAndCount(text, room)
    const preview = { text: body, omission: { noun: 'character', count, of: text.length }, hasCuts: false } as const
    const shaped = composeText(text, { kind, preview, hints })
    if (fits(shaped.text, preset)) return shaped
  }
  return writeNoticeOnly(text, { kind, preset, hints })
}

const MIN_CUT_LENGTH = 60

/** For thresholds below those of `readPresets`: there may be room for part of the notice only, or for nothing. */
function writeNoticeOnly(text: string, { kind, preset: { threshold }, hints }: ShapingInput): ShapedText {
  const notice = formatNotice({ kind, length: text.length, hints })
  const line = kind === 'json' ? JSON.stringify({ notice }) : `[${notice}]`
  const bare = line.length <= threshold ? line : kind === 'json' ? '0' : line.slice(0, cutBefore(line, threshold))
  return { text: threshold > 0 ? bare : '', kind, isWhole: false, preview: '', notice, omission: omitAll(text) }
}

const KIND_WORDS: Readonly<Record<ContentKind, string>> = {
  json: 'JSON',
  ndjson: 'JSON lines',
  csv: 'CSV',
  tsv: 'TSV',
  html: 'HTML',
  xml: 'XML',
  markdown: 'Markdown',
  yaml: 'YAML',
  log: 'a log',
  text: 'a text',
  binary: 'binary data',
}

/** The name of the tool that reads saved results, here and in the gateway. */
export const READ_RESULT_TOOL = 'sallyport_read_result'

const MAX_REST_LENGTH = 200

interface NoticeFacts {
  readonly kind: ContentKind
  /** The length of the whole text, in characters. */
  readonly length: number
  readonly preview?: Preview
  readonly hints: { readonly handle?: string; readonly rest?: string }
}

/** One line that says what is missing and how to get it. */
function formatNotice({ kind, length, preview, hints }: NoticeFacts): string {
  const what = `${KIND_WORDS[kind]} of ${formatCount(length, 'character')}`
  const rest = formatRest(hints)
  const first =
    preview === undefined || preview.text === ''
      ? `Left out: ${what}.`
      : `Preview of ${what}: ${describeOmission(preview)}.`
  return rest === '' ? first : `${first} ${rest}`
}

function describeOmission({ omission: { count, of, noun }, hasCuts }: Preview): string {
  const parts = [
    ...(count > 0 ? [`${groupDigits(count)} of ${formatCount(of, noun)} omitted`] : []),
    ...(hasCuts ? ['long parts cut'] : []),
  ]
  return parts.length === 0 ? 'only white space is left out' : parts.join(', ')
}

function formatRest({ handle, rest }: NoticeFacts['hints']): string {
  const sentence = rest ?? (handle === undefined ? '' : `Read the whole with ${READ_RESULT_TOOL}, handle ${handle}.`)
  // `rest` may quote other text, so it is reduced to one short line.
  return sentence.slice(0, cutBefore(sentence, MAX_REST_LENGTH)).replaceAll(/\s+/g, ' ').trim()
}
