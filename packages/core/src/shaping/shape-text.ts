import { estimateTokens } from '../text/estimate-tokens.ts'
import { type ContentHints, type ContentKind, detectKind, findDelimiter } from './content-kind.ts'
import { csvPreviews } from './csv-preview.ts'
import { eachLine, HeadTailBuffer, type IndexedSpan, joinWithGaps } from './head-tail-buffer.ts'
import { jsonPreviews } from './json-preview.ts'
import { ndjsonPreviews } from './ndjson-preview.ts'
import type { Ends, Preset } from './preset.ts'
import { type Omission, type Preview, SCALES, scaleEnds, scaleLength } from './preview.ts'
import { cutBefore, cutMiddle, cutMiddleAndCount, formatCount, groupDigits, omissionMark } from './safe-cut.ts'

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
  for (const preview of allPreviews(text, kind, preset)) {
    const shaped = preview && composeText(text, { kind, preview, hints })
    if (shaped !== undefined && fits(shaped.text, preset)) return shaped
  }
  return cutToFit(text, { kind, preset, hints })
}

/** Later attempts with a filled preset would cut each part to a few letters. Fewer but complete parts are better. */
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

/** Shorter rows, lines and items are rare, so this many of them reach the threshold. */
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
  text.length <= threshold && estimateTokens(text) <= previewTokens

interface ShapingInput {
  readonly kind: ContentKind
  readonly preset: Preset
  readonly hints: ShapingHints
}

/** The last resort for a text without short lines, rows or items: as much of both ends as fits. */
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

/** For thresholds below those of `readPresets`: there may be room for part of the notice only, or for nothing. */
function writeNoticeOnly(text: string, { kind, preset: { threshold }, hints }: ShapingInput): ShapedText {
  const notice = formatNotice({ kind, length: text.length, hints })
  const line = kind === 'json' ? JSON.stringify({ notice }) : `[${notice}]`
  const bare = line.length <= threshold ? line : kind === 'json' ? '0' : line.slice(0, cutBefore(line, threshold))
  return { text: threshold > 0 ? bare : '', kind, isWhole: false, preview: '', notice, omission: omitAll(text) }
}

/** A line of markup is a tag, its text, and the tag's end. */
const PARTS_PER_LINE = 3

/** Smaller and smaller previews of HTML or XML: the first and last tags and texts. No tag is cut in the middle. */
function* markupPreviews(text: string, preset: Preset): Generator<Preview> {
  const ends = { head: preset.lines.head * PARTS_PER_LINE, tail: preset.lines.tail * PARTS_PER_LINE }
  const buffer = new HeadTailBuffer(ends)
  eachPart(text, ({ start, end }) => buffer.add(start, end))
  for (const scale of SCALES)
    yield writeMarkup(text, buffer, { ends: scaleEnds(ends, scale), length: scaleLength(scale) })
}

function writeMarkup(
  text: string,
  buffer: HeadTailBuffer,
  { ends, length }: { readonly ends: Ends; readonly length: number },
): Preview {
  const shown = buffer.select(ends)
  const count = buffer.count - shown.length
  let body = ''
  let before: IndexedSpan | undefined
  for (const part of shown) {
    const isGap = part.index > (before?.index ?? -1) + 1
    if (isGap) body += `\n${gapMark(part.index - (before?.index ?? -1) - 1)}\n`
    else if (before !== undefined) body += spacing(text, before.end, part.start)
    body += writePart(text, part, length)
    before = part
  }
  const left = buffer.count - 1 - (before?.index ?? -1)
  if (left > 0) body += `\n${gapMark(left)}`
  const hasCuts = shown.some(({ start, end }) => end - start > length)
  return { text: body, omission: { noun: 'part', count, of: buffer.count }, hasCuts }
}

const gapMark = (missing: number): string => `<!-- ${omissionMark(missing, 'part')} -->`

/** The text between two parts: white space becomes one character, a comment or a script becomes `…`. */
function spacing(text: string, from: number, to: number): string {
  const between = text.slice(from, Math.min(to, from + 200))
  if (between === '') return ''
  if (between.trim() !== '') return '…'
  return between.includes('\n') ? '\n' : ' '
}

/** A tag is shown completely or only by its name: half an attribute does not help. */
function writePart(text: string, { start, end }: IndexedSpan, length: number): string {
  if (end - start <= length) return text.slice(start, end)
  const name = /^<[/?!]?[A-Za-z][^\s<>"'/]{0,60}/.exec(text.slice(start, start + 64))?.[0]
  return name === undefined ? cutMiddle(text.slice(start, end), length) : `${name} …>`
}

const LESS = 0x3c
const GREATER = 0x3e
const SINGLE = 0x27
const DOUBLE = 0x22

/** A tag, or a text between two. */
interface MarkupPart {
  readonly isTag: boolean
  readonly start: number
  readonly end: number
}

/** After these tags everything up to the end tag is code, not content. */
const CODE = /^<(script|style)\b/i
const CODE_END = { script: /<\/script/gi, style: /<\/style/gi } as const

/** Visits the tags and texts of HTML or XML. Skips comments, scripts, styles and white space. */
function eachPart(text: string, visit: (part: MarkupPart) => void): void {
  let at = 0
  while (at < text.length) {
    const end = text.charCodeAt(at) === LESS ? tagEnd(text, at) : -1
    if (end < 0) {
      const next = textEnd(text, at)
      visitText(text, { start: at, end: next }, visit)
      at = next
      continue
    }
    const isComment = text.startsWith('<!--', at)
    if (!isComment) visit({ isTag: !text.startsWith('<![CDATA[', at), start: at, end })
    at = isComment ? end : codeEnd(text, at, end)
  }
}

function visitText(
  text: string,
  { start, end }: { readonly start: number; readonly end: number },
  visit: (part: MarkupPart) => void,
): void {
  const piece = text.slice(start, end)
  const first = start + (piece.length - piece.trimStart().length)
  const last = first + piece.trim().length
  if (last > first) visit({ isTag: false, start: first, end: last })
}

/** At least one character: a "<" that opens nothing is text. */
function textEnd(text: string, from: number): number {
  const next = text.indexOf('<', from + 1)
  return next < 0 ? text.length : next
}

/** -1 if no tag begins here. A tag that is not closed extends to the end, so that nothing is read twice. */
function tagEnd(text: string, at: number): number {
  if (text.startsWith('<!--', at)) return endOfMark(text, '-->', at + 4)
  if (text.startsWith('<![CDATA[', at)) return endOfMark(text, ']]>', at)
  return /[A-Za-z/!?]/.test(text.charAt(at + 1)) ? plainTagEnd(text, at) : -1
}

function endOfMark(text: string, mark: string, from: number): number {
  const found = text.indexOf(mark, from)
  return found < 0 ? text.length : found + mark.length
}

function plainTagEnd(text: string, from: number): number {
  let quote = 0
  for (let at = from + 1; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (quote !== 0) quote = code === quote ? 0 : quote
    else if (code === GREATER) return at + 1
    else if (code === SINGLE || code === DOUBLE) quote = code
  }
  return text.length
}

function codeEnd(text: string, start: number, end: number): number {
  const name = CODE.exec(text.slice(start, start + 8))?.[1]?.toLowerCase()
  if ((name !== 'script' && name !== 'style') || text.charAt(end - 2) === '/') return end
  const pattern = CODE_END[name]
  pattern.lastIndex = end
  return pattern.exec(text)?.index ?? text.length
}

/** Lines that show the structure of a text. They are shown before others. */
type IsLandmark = (line: string) => boolean

/** A longer line is never a landmark. */
const MAX_LANDMARK_LENGTH = 200

const noLandmarks = (): IsLandmark => () => false

/** The headings of Markdown, except inside code fences. */
function markdownHeadings(): IsLandmark {
  let fence: string | undefined
  return (line) => {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1]?.slice(0, 3)
    if (mark !== undefined && (fence === undefined || fence === mark)) fence = fence === undefined ? mark : undefined
    return fence === undefined && /^#{1,6} \S/.test(line)
  }
}

/** The top-level keys of YAML, and the separators of documents. */
const yamlTopKeys = (): IsLandmark => (line) => /^(?:---|"?[\w.$-]{1,80}"?:(?:\s|$))/.test(line)

/** Smaller and smaller previews of lines: the first, the last, and landmarks between them. */
function* linePreviews(text: string, preset: Preset, isLandmark: IsLandmark): Generator<Preview> {
  const buffer = new HeadTailBuffer(preset.lines)
  const landmarks: IndexedSpan[] = []
  eachLine(text, (start, end) => {
    buffer.add(start, end)
    if (landmarks.length === preset.lines.head || end - start > MAX_LANDMARK_LENGTH) return
    if (isLandmark(text.slice(start, end))) landmarks.push({ index: buffer.count - 1, start, end })
  })
  for (const scale of SCALES) {
    const ends = scaleEnds(preset.lines, scale)
    const shown = merged(buffer.select(ends), landmarks.slice(0, ends.head))
    // If there are few lines, each may be longer.
    const share = Math.floor((preset.threshold * scale) / Math.max(1, shown.length))
    yield writeLines(text, { shown, count: buffer.count, length: Math.max(scaleLength(scale), share) })
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
