import { quoteText } from '../excerpt.ts'
import {
  findJsonValue,
  isListAt,
  isTextAt,
  type JsonObject,
  MemberCursor,
  readJsonPath,
  skipSpace,
} from '../json/json.ts'
import type { TextPattern } from '../text-pattern.ts'
import { type ContentHints, type ContentKind, delimiterOf, detectKind } from './content-kind.ts'
import { eachRecord } from './csv-records.ts'
import { eachLine } from './line-index.ts'
import { eachJsonLine } from './ndjson-preview.ts'
import { findPreset } from './preset.ts'
import { counted, cutAfter, cutBefore, cutMiddle, grouped } from './safe-cut.ts'
import { shapeText } from './shape-text.ts'

/** From 1, both ends included. */
export interface PageRange {
  readonly from: number
  readonly to: number
}

/** What is wanted of a saved text: one of these ways to say it. Offsets and limits are in characters, as thresholds are. */
export type PageRequest =
  | { readonly offset: number; readonly limit?: number }
  | { readonly lines: PageRange }
  | { readonly rows: PageRange }
  | { readonly path: string; readonly offset?: number }
  | { readonly grep: string | TextPattern; readonly from?: number }

/** A part of a text, never longer than was allowed. */
export interface TextPage {
  /** One line: which part this is, and of how much. */
  readonly says: string
  readonly text: string
  /** The arguments that ask for the next page; nothing where this was the last. */
  readonly next?: JsonObject
}

export interface PageOptions extends ContentHints {
  /** The most characters that `text` may have. */
  readonly most: number
}

/** A page, or why there is none. */
export type Paged = TextPage | { readonly problem: string }

export function pageText(text: string, request: PageRequest, options: PageOptions): Paged {
  if ('grep' in request) return pageMatches(text, request, options)
  if ('path' in request) return pageValue(text, request, options)
  if ('lines' in request)
    return pageStretches({ noun: 'line', range: request.lines, most: options.most }, linesOf(text))
  if ('rows' in request) return pageRows(text, request.rows, options)
  return pageCharacters(text, request, options.most)
}

function pageCharacters(text: string, { offset, limit }: { offset: number; limit?: number }, most: number): TextPage {
  const start = cutAfter(text, offset)
  const wanted = start + Math.max(1, Math.min(limit ?? most, most))
  // A cluster longer than the page is split after all: a page that moves nowhere would be asked for for ever.
  const cut = cutBefore(text, wanted)
  const end = cut > start ? cut : Math.min(wanted, text.length)
  const says = `Characters ${grouped(start)} to ${grouped(end)} of ${grouped(text.length)}.`
  return { says, text: text.slice(start, end), ...(end < text.length ? { next: { offset: end } } : {}) }
}

/** Calls back with each stretch in order. */
type Stretches = (visit: (start: number, end: number) => void) => { readonly text: string; readonly head?: string }

const linesOf =
  (text: string): Stretches =>
  (visit) => {
    eachLine(text, visit)
    return { text }
  }

function pageRows(text: string, range: PageRange, options: PageOptions): Paged {
  const kind = detectKind(text, options)
  const rows = rowsOf(text, kind)
  if (rows !== undefined) return pageStretches({ noun: 'row', range, most: options.most }, rows)
  return {
    problem: `Rows are those of CSV, of JSON lines and of a JSON array; this is ${kind}. Ask for lines, or by offset.`,
  }
}

function rowsOf(text: string, kind: ContentKind): Stretches | undefined {
  if (kind === 'csv' || kind === 'tsv') return tableRows(text, kind === 'tsv' ? 0x09 : delimiterOf(text))
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

/** The header belongs to every page. */
const tableRows =
  (text: string, delimiter: number): Stretches =>
  (visit) => {
    let head: string | undefined
    eachRecord(text, delimiter, (start, end) => {
      if (head === undefined) head = text.slice(start, end)
      else visit(start, end)
      return true
    })
    return { text, head: head ?? '' }
  }

interface StretchRequest {
  readonly noun: 'line' | 'row'
  readonly range: PageRange
  readonly most: number
}

function pageStretches({ noun, range, most }: StretchRequest, stretches: Stretches): TextPage {
  const places: (readonly [start: number, end: number])[] = []
  let count = 0
  let length = 0
  let last = 0
  const { text, head } = stretches((start, end) => {
    const number = ++count
    if (number < range.from || number > range.to || length >= most) return
    length += end - start + 1
    places.push([start, end])
    last = number
  })
  const header = head === undefined ? '' : `${cutMiddle(head, Math.floor(most / 2))}\n`
  return fitted({ noun, range, count, last }, { text, header, places, most })
}

interface Counted {
  readonly noun: 'line' | 'row'
  readonly range: PageRange
  readonly count: number
  readonly last: number
}

interface Found {
  readonly text: string
  readonly header: string
  readonly places: readonly (readonly [start: number, end: number])[]
  readonly most: number
}

/** The stretches that fit, whole. The first one is cut where it alone is too long, for a page must have something. */
function fitted({ noun, range, count, last }: Counted, { text, header, places, most }: Found): TextPage {
  let body = header
  let shown = 0
  for (const [start, end] of places) {
    const room = most - body.length - 1
    if (end - start > room && shown > 0) break
    body += `${cutMiddle(text.slice(start, end), Math.max(room, 80))}\n`
    shown++
  }
  const from = last - places.length + 1
  const to = from + shown - 1
  const says =
    shown === 0
      ? `There are ${counted(count, noun)}; none from ${grouped(range.from)} to ${grouped(range.to)}.`
      : `${noun === 'line' ? 'Lines' : 'Rows'} ${grouped(from)} to ${grouped(to)} of ${grouped(count)}.`
  const hasMore = shown > 0 && to < count
  return {
    says,
    text: body.slice(0, cutBefore(body, most)).replace(/\n$/, ''),
    ...(hasMore ? { next: { [`${noun}s`]: { from: to + 1, to: Math.min(count, to + Math.max(1, shown)) } } } : {}),
  }
}

function pageValue(text: string, { path, offset = 0 }: { path: string; offset?: number }, options: PageOptions): Paged {
  const kind = detectKind(text, options)
  if (kind !== 'json') return { problem: `A path leads into JSON; this is ${kind}. Ask for lines, or by offset.` }
  const steps = readJsonPath(path)
  if (steps === undefined)
    return { problem: `${quoteText(path, 60)} is no path. Give one such as /items/0/name or $.items[0].name.` }
  const found = findJsonValue(text, steps)
  if ('problem' in found) return found
  const value = text.slice(found.start, found.end)
  if (!isTextAt(value, 0)) return pageJson(value, path, options.most)
  const page = pageCharacters(JSON.parse(value) as string, { offset }, options.most)
  const next = page.next === undefined ? {} : { next: { path, ...page.next } }
  return { says: `The text at ${quoteText(path, 60)}. ${page.says}`, text: page.text, ...next }
}

function pageJson(value: string, path: string, most: number): TextPage {
  const where = `The value at ${quoteText(path, 60)}, ${counted(value.length, 'character')} of JSON`
  if (value.length <= most) return { says: `${where}.`, text: value }
  const { preview } = shapeText(value, { ...findPreset('default'), threshold: most, previewTokens: most })
  return { says: `${where}, shortened: give a longer path to see more.`, text: preview }
}

function pageMatches(
  text: string,
  { grep, from = 1 }: { grep: string | TextPattern; from?: number },
  { most }: PageOptions,
): Paged {
  if (grep === '') return { problem: 'There is nothing to look for: grep is empty.' }
  const isMatch = typeof grep === 'string' ? (line: string) => line.includes(grep) : bounded(grep)
  const lines: string[] = []
  let number = 0
  let matches = 0
  let length = 0
  let next: number | undefined
  eachLine(text, (start, end) => {
    if (++number < from || !isMatch(text.slice(start, end))) return
    matches++
    if (next !== undefined) return
    const line = `${number}: ${shownMatch(text.slice(start, end), grep)}`
    if (length + line.length + 1 > most && lines.length > 0) next = number
    else {
      lines.push(line)
      length += line.length + 1
    }
  })
  const says = `${counted(matches, 'line')} from line ${grouped(from)} on match; ${lines.length} shown.`
  const body = lines.join('\n')
  return { says, text: body.slice(0, cutBefore(body, most)), ...(next === undefined ? {} : { next: { from: next } }) }
}

const LONGEST_MATCH = 300

/** Of a long line what stands around the match; where a pattern does not tell where that is, its two ends. */
function shownMatch(line: string, grep: string | TextPattern): string {
  if (line.length <= LONGEST_MATCH || typeof grep !== 'string') return cutMiddle(line, LONGEST_MATCH)
  const match = line.indexOf(grep)
  const start = cutAfter(line, Math.max(0, match - Math.floor(LONGEST_MATCH / 3)))
  const end = cutBefore(line, Math.min(line.length, start + LONGEST_MATCH))
  const place = `character ${grouped(match)}`
  return `(${place}) ${start > 0 ? '… ' : ''}${line.slice(start, end)}${end < line.length ? ' …' : ''}`
}

const bounded =
  (pattern: TextPattern) =>
  (line: string): boolean =>
    pattern(line.slice(0, pattern.longest))
