import {
  findJsonValue,
  isListAt,
  isStringAt,
  type JsonObject,
  MemberCursor,
  readJsonPath,
  skipSpace,
} from '../json/json.ts'
import { quoteText } from '../text/excerpt.ts'
import type { TextPattern } from '../text/text-pattern.ts'
import { type ContentHints, type ContentKind, detectKind, findDelimiter } from './content-kind.ts'
import { eachRecord } from './csv-records.ts'
import { eachLine } from './head-tail-buffer.ts'
import { eachJsonLine } from './ndjson-preview.ts'
import { findPreset } from './preset.ts'
import { cutAfter, cutBefore, cutMiddle, formatCount, groupDigits } from './safe-cut.ts'
import { shapeText } from './shape-text.ts'

/** One-based, both ends included. */
export interface PageRange {
  readonly from: number
  readonly to: number
}

/** Which part of a saved text is requested, in one of these forms. Offsets and limits are in characters. */
export type PageRequest =
  | { readonly offset: number; readonly limit?: number }
  | { readonly lines: PageRange }
  | { readonly rows: PageRange }
  | { readonly path: string; readonly offset?: number }
  | { readonly grep: string | TextPattern; readonly from?: number }

/** A part of a text, never longer than allowed. */
export interface ResultPage {
  /** One line: which part this is, and how much there is in all. */
  readonly summary: string
  readonly text: string
  /** The arguments for the next page; missing on the last page. */
  readonly next?: JsonObject
}

export interface PageOptions extends ContentHints {
  /** The maximum number of characters in `text`. */
  readonly maxLength: number
}

/** A page, or why there is none. */
export type PageResult = ResultPage | { readonly problem: string }

export function pageText(text: string, request: PageRequest, options: PageOptions): PageResult {
  if ('grep' in request) return pageMatches(text, request, options)
  if ('path' in request) return pageValue(text, request, options)
  if ('lines' in request)
    return pageSpans({ noun: 'line', range: request.lines, maxLength: options.maxLength }, visitLines(text))
  if ('rows' in request) return pageRows(text, request.rows, options)
  return pageCharacters(text, request, options.maxLength)
}

function pageCharacters(
  text: string,
  { offset, limit }: { offset: number; limit?: number },
  maxLength: number,
): ResultPage {
  const start = cutAfter(text, offset)
  const wanted = start + Math.max(1, Math.min(limit ?? maxLength, maxLength))
  // A grapheme longer than the page is split anyway: otherwise the reader would never get beyond it.
  const cut = cutBefore(text, wanted)
  const end = cut > start ? cut : Math.min(wanted, text.length)
  const summary = `Characters ${groupDigits(start)} to ${groupDigits(end)} of ${groupDigits(text.length)}.`
  return { summary, text: text.slice(start, end), ...(end < text.length ? { next: { offset: end } } : {}) }
}

/** Visits all spans in order. */
type VisitSpans = (visit: (start: number, end: number) => void) => { readonly text: string; readonly head?: string }

const visitLines =
  (text: string): VisitSpans =>
  (visit) => {
    eachLine(text, visit)
    return { text }
  }

function pageRows(text: string, range: PageRange, options: PageOptions): PageResult {
  const kind = detectKind(text, options)
  const rows = findRows(text, kind)
  if (rows !== undefined) return pageSpans({ noun: 'row', range, maxLength: options.maxLength }, rows)
  return {
    problem: `Only CSV, JSON lines and JSON arrays have rows; this is ${kind}. Ask for lines, or by offset.`,
  }
}

function findRows(text: string, kind: ContentKind): VisitSpans | undefined {
  if (kind === 'csv' || kind === 'tsv') return visitTableRows(text, kind === 'tsv' ? 0x09 : findDelimiter(text))
  if (kind === 'ndjson')
    return (visit) => {
      eachJsonLine(text, visit)
      return { text }
    }
  const root = skipSpace(text, 0)
  if (kind !== 'json' || !isListAt(text, root)) return undefined
  return (visit) => {
    for (const items = new MemberCursor(text, root); items.next(); ) visit(items.start, items.end)
    return { text }
  }
}

/** Every page begins with the header. */
const visitTableRows =
  (text: string, delimiter: number): VisitSpans =>
  (visit) => {
    let head: string | undefined
    eachRecord(text, delimiter, (start, end) => {
      if (head === undefined) head = text.slice(start, end)
      else visit(start, end)
      return true
    })
    return { text, head: head ?? '' }
  }

interface SpanRequest {
  readonly noun: 'line' | 'row'
  readonly range: PageRange
  readonly maxLength: number
}

function pageSpans({ noun, range, maxLength }: SpanRequest, visitSpans: VisitSpans): ResultPage {
  const spans: (readonly [start: number, end: number])[] = []
  let count = 0
  let length = 0
  let last = 0
  const { text, head } = visitSpans((start, end) => {
    const number = ++count
    if (number < range.from || number > range.to || length >= maxLength) return
    length += end - start + 1
    spans.push([start, end])
    last = number
  })
  const header = head === undefined ? '' : `${cutMiddle(head, Math.floor(maxLength / 2))}\n`
  return fitPage({ noun, range, count, last }, { text, header, spans, maxLength })
}

interface CountedRange {
  readonly noun: 'line' | 'row'
  readonly range: PageRange
  readonly count: number
  readonly last: number
}

interface FoundSpans {
  readonly text: string
  readonly header: string
  readonly spans: readonly (readonly [start: number, end: number])[]
  readonly maxLength: number
}

/**
 * All spans that fit completely. If the first one alone is too long, it is shortened, so that a page is never empty.
 */
function fitPage(
  { noun, range, count, last }: CountedRange,
  { text, header, spans, maxLength }: FoundSpans,
): ResultPage {
  let body = header
  let shown = 0
  for (const [start, end] of spans) {
    const room = maxLength - body.length - 1
    if (end - start > room && shown > 0) break
    body += `${cutMiddle(text.slice(start, end), Math.max(room, 80))}\n`
    shown++
  }
  const from = last - spans.length + 1
  const to = from + shown - 1
  const summary =
    shown === 0
      ? `There are ${formatCount(count, noun)}; none from ${groupDigits(range.from)} to ${groupDigits(range.to)}.`
      : `${noun === 'line' ? 'Lines' : 'Rows'} ${groupDigits(from)} to ${groupDigits(to)} of ${groupDigits(count)}.`
  const hasMore = shown > 0 && to < count
  return {
    summary,
    text: body.slice(0, cutBefore(body, maxLength)).replace(/\n$/, ''),
    ...(hasMore ? { next: { [`${noun}s`]: { from: to + 1, to: Math.min(count, to + Math.max(1, shown)) } } } : {}),
  }
}

function pageValue(
  text: string,
  { path, offset = 0 }: { path: string; offset?: number },
  options: PageOptions,
): PageResult {
  const kind = detectKind(text, options)
  if (kind !== 'json') return { problem: `A path needs JSON; this is ${kind}. Ask for lines, or by offset.` }
  const steps = readJsonPath(path)
  if (steps === undefined)
    return { problem: `${quoteText(path, 60)} is not a valid path. Use one such as /items/0/name or $.items[0].name.` }
  const found = findJsonValue(text, steps)
  if ('problem' in found) return found
  const value = text.slice(found.start, found.end)
  if (!isStringAt(value, 0)) return pageJson(value, path, options.maxLength)
  const page = pageCharacters(JSON.parse(value) as string, { offset }, options.maxLength)
  const next = page.next === undefined ? {} : { next: { path, ...page.next } }
  return { summary: `The text at ${quoteText(path, 60)}. ${page.summary}`, text: page.text, ...next }
}

function pageJson(value: string, path: string, maxLength: number): ResultPage {
  const where = `The value at ${quoteText(path, 60)}, ${formatCount(value.length, 'character')} of JSON`
  if (value.length <= maxLength) return { summary: `${where}.`, text: value }
  const { preview } = shapeText(value, { ...findPreset('default'), threshold: maxLength, previewTokens: maxLength })
  return { summary: `${where}, shortened: give a longer path to see more.`, text: preview }
}

function pageMatches(
  text: string,
  { grep, from = 1 }: { grep: string | TextPattern; from?: number },
  { maxLength }: PageOptions,
): PageResult {
  if (grep === '') return { problem: 'grep is empty: there is nothing to search for.' }
  const isMatch = typeof grep === 'string' ? (line: string) => line.includes(grep) : boundPattern(grep)
  const lines: string[] = []
  let number = 0
  let matches = 0
  let length = 0
  let next: number | undefined
  eachLine(text, (start, end) => {
    if (++number < from || !isMatch(text.slice(start, end))) return
    matches++
    if (next !== undefined) return
    const line = `${number}: ${formatMatch(text.slice(start, end), grep)}`
    if (length + line.length + 1 > maxLength && lines.length > 0) next = number
    else {
      lines.push(line)
      length += line.length + 1
    }
  })
  const summary = `${formatCount(matches, 'line')} from line ${groupDigits(from)} on match; ${lines.length} shown.`
  const body = lines.join('\n')
  return {
    summary,
    text: body.slice(0, cutBefore(body, maxLength)),
    ...(next === undefined ? {} : { next: { from: next } }),
  }
}

const MAX_MATCH_LENGTH = 300

/** A long line is cut to the part around the match. A pattern does not report its position: then to both ends. */
function formatMatch(line: string, grep: string | TextPattern): string {
  if (line.length <= MAX_MATCH_LENGTH || typeof grep !== 'string') return cutMiddle(line, MAX_MATCH_LENGTH)
  const match = line.indexOf(grep)
  const start = cutAfter(line, Math.max(0, match - Math.floor(MAX_MATCH_LENGTH / 3)))
  const end = cutBefore(line, Math.min(line.length, start + MAX_MATCH_LENGTH))
  const position = `character ${groupDigits(match)}`
  return `(${position}) ${start > 0 ? '… ' : ''}${line.slice(start, end)}${end < line.length ? ' …' : ''}`
}

const boundPattern =
  (pattern: TextPattern) =>
  (line: string): boolean =>
    pattern(line.slice(0, pattern.longest))
