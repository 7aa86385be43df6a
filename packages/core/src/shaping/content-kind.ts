import { isJson, skipSpace } from '../json/json.ts'
import { eachRecord, splitCells } from './csv-records.ts'
import { lineEnd } from './head-tail-buffer.ts'
import { eachJsonLine } from './ndjson-preview.ts'

export type ContentKind =
  | 'json'
  | 'ndjson'
  | 'csv'
  | 'tsv'
  | 'html'
  | 'xml'
  | 'markdown'
  | 'yaml'
  | 'log'
  | 'text'
  | 'binary'

/** What was declared about a text. Used only if the text agrees with it. */
export interface ContentHints {
  readonly mimeType?: string
  /** A file name: its extension is used. */
  readonly name?: string
}

/** Large enough to detect the kind of a text, and small enough to be read closely. */
const SAMPLE_LENGTH = 32_768
const SAMPLED_LINES = 40
const SAMPLE_LINE_LENGTH = 200

const BY_TYPE: readonly (readonly [type: RegExp, kind: ContentKind])[] = [
  [/[/+](?:x-)?(?:ndjson|jsonl|jsonlines|json-seq)$/, 'ndjson'],
  [/[/+]json$/, 'json'],
  [/\/(?:csv|x-csv)$/, 'csv'],
  [/\/tab-separated-values$/, 'tsv'],
  [/\/(?:html|xhtml\+xml)$/, 'html'],
  [/[/+]xml$/, 'xml'],
  [/\/(?:x-)?markdown$/, 'markdown'],
  [/[/+](?:x-)?yaml$/, 'yaml'],
  [/\/x-log$/, 'log'],
]

const BY_EXTENSION: Readonly<Record<string, ContentKind>> = {
  json: 'json',
  ndjson: 'ndjson',
  jsonl: 'ndjson',
  csv: 'csv',
  tsv: 'tsv',
  html: 'html',
  htm: 'html',
  xml: 'xml',
  svg: 'xml',
  md: 'markdown',
  markdown: 'markdown',
  yaml: 'yaml',
  yml: 'yaml',
  log: 'log',
}

/** Detects the kind of a text by its content and by what was declared (ISO-14). */
export function detectKind(text: string, hints: ContentHints = {}): ContentKind {
  if (isBinary(text)) return 'binary'
  const declared = declaredKind(hints)
  if (declared !== undefined && matchesKind(text, declared)) return declared
  return detectByContent(text)
}

function declaredKind({ mimeType, name }: ContentHints): ContentKind | undefined {
  const type = (mimeType?.slice(0, 200).split(';')[0] ?? '').trim().toLowerCase()
  const byType = BY_TYPE.find(([pattern]) => pattern.test(type))?.[1]
  const extension = name?.slice(name.lastIndexOf('.') + 1).toLowerCase() ?? ''
  return byType ?? (Object.hasOwn(BY_EXTENSION, extension) ? BY_EXTENSION[extension] : undefined)
}

/** A declaration decides between several possible kinds. It is ignored if the text contradicts it. */
function matchesKind(text: string, kind: ContentKind): boolean {
  if (kind === 'json') return isJson(text)
  if (kind === 'ndjson') return !isJson(text) && eachJsonLine(text, () => undefined)
  if (kind === 'csv') return countColumns(text, findDelimiter(text)) > 1
  if (kind === 'tsv') return countColumns(text, TAB) > 1
  if (kind === 'html' || kind === 'xml') return text.slice(0, SAMPLE_LENGTH).includes('<')
  return true
}

function detectByContent(text: string): ContentKind {
  const first = text.charAt(skipSpace(text, 0))
  if (first !== '' && '{["'.includes(first)) {
    if (isJson(text)) return 'json'
    if (first !== '"' && eachJsonLine(text, () => undefined)) return 'ndjson'
  }
  if (first === '<') {
    const kind = markupKind(text)
    if (kind !== undefined) return kind
  }
  const lines = sampleLines(text)
  if (mostLinesMatch(lines, LOG_LINE)) return 'log'
  const table = tableKind(text, lines)
  if (table !== undefined) return table
  if (isMarkdown(lines)) return 'markdown'
  return isYaml(lines) ? 'yaml' : 'text'
}

/** Text has no NUL, and few control characters other than white space and terminal colors. */
function isBinary(text: string): boolean {
  const sample = text.slice(0, SAMPLE_LENGTH)
  let strange = 0
  for (let at = 0; at < sample.length; at++) {
    const code = sample.charCodeAt(at)
    if (code === 0) return true
    if (code === 0xfffd || (code < 0x20 && (code < 0x09 || code > 0x0d) && code !== 0x1b)) strange++
  }
  return strange > sample.length / 10
}

const HTML_START = /^\s*(?:<!doctype html|<(?:html|head|body|div|p|table|ul|ol|span|h[1-6]|section|article|main)\b)/i
const XML_START = /^\s*<(?:\?xml\b|![A-Z[-]|[A-Za-z_][\w:.-]*(?:\s|\/?>))/

function markupKind(text: string): ContentKind | undefined {
  const start = text.slice(0, SAMPLE_LINE_LENGTH * 5)
  if (HTML_START.test(start)) return 'html'
  return XML_START.test(start) && text.slice(-SAMPLE_LINE_LENGTH).trimEnd().endsWith('>') ? 'xml' : undefined
}

const LEVEL = '(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL|PANIC|SEVERE)'
const LOG_LINE = new RegExp(
  [
    '^\\[?\\d{4}[-/]\\d\\d[-/]\\d\\d[T ]\\d\\d:\\d\\d',
    '^\\[?\\d\\d:\\d\\d:\\d\\d',
    `^[[(<]?${LEVEL}\\b`,
    '^(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \\d]\\d \\d\\d:\\d\\d',
    '^\\S{1,60} \\S{1,40} \\S{1,40} \\[\\d\\d/[A-Z][a-z]{2}/\\d{4}:',
    '^(?:time|ts|level)=\\S',
  ].join('|'),
  'i',
)

/** The first lines that are not blank, each cut to a length that is safe for patterns. */
function sampleLines(text: string): readonly string[] {
  const lines: string[] = []
  for (let at = 0; at < Math.min(text.length, SAMPLE_LENGTH) && lines.length < SAMPLED_LINES; ) {
    const end = lineEnd(text, at)
    const line = text.slice(at, Math.min(end, at + SAMPLE_LINE_LENGTH))
    if (line.trim() !== '') lines.push(line)
    at = end + 1
  }
  return lines
}

const mostLinesMatch = (lines: readonly string[], pattern: RegExp): boolean =>
  lines.length > 0 && lines.filter((line) => pattern.test(line)).length > lines.length / 2

const COMMA = 0x2c
const SEMICOLON = 0x3b
const TAB = 0x09

/** The delimiter that gives a table the most columns. */
export function findDelimiter(text: string): number {
  const [best] = [COMMA, TAB, SEMICOLON]
    .map((delimiter) => ({ delimiter, columns: countColumns(text, delimiter) }))
    .sort((one, other) => other.columns - one.columns)
  return best?.delimiter ?? COMMA
}

/** The number of columns of the first records; 0 if they differ, or if there is only one record. */
function countColumns(text: string, delimiter: number): number {
  const counts: number[] = []
  // The last record of a sample may be truncated, so it does not count.
  const sample = text.slice(0, SAMPLE_LENGTH)
  eachRecord(sample, delimiter, (start, end) => {
    if (end < sample.length || sample.length === text.length)
      counts.push(splitCells(sample, { start, end }, { delimiter, maxCells: 0 }).count)
    return counts.length < SAMPLED_LINES
  })
  const [first = 0] = counts
  return counts.length > 1 && counts.every((count) => count === first) ? first : 0
}

const MIN_RECORDS = 3

/** Prose has commas too. A table has the same number in every record, a header of short names, and few spaces after. */
function tableKind(text: string, lines: readonly string[]): ContentKind | undefined {
  if (lines.length < MIN_RECORDS) return undefined
  const delimiter = findDelimiter(text)
  const columns = countColumns(text, delimiter)
  const [header = ''] = lines
  if (columns < 2 || (delimiter === TAB && columns < 2) || !isHeader(header.split(String.fromCharCode(delimiter))))
    return undefined
  if (delimiter === TAB) return 'tsv'
  const sample = text.slice(0, SAMPLE_LENGTH)
  const all = sample.split(String.fromCharCode(delimiter)).length - 1
  const loose = sample.split(`${String.fromCharCode(delimiter)} `).length - 1
  return loose * 2 > all ? undefined : 'csv'
}

const isHeader = (cells: readonly string[]): boolean =>
  new Set(cells).size === cells.length && cells.every((cell) => cell.trim() !== '' && cell.length <= 80)

function isMarkdown(lines: readonly string[]): boolean {
  const headings = lines.filter((line) => /^#{1,6} \S/.test(line)).length
  if (headings === 0) return false
  // A single "#" begins a comment in many languages.
  return lines.some((line) => /^(?:#{2,6} \S|`{3}|[-*] |\d+\. |> |\|)|\]\(/.test(line))
}

const YAML_LINE = /^(?:---|\s*#|\s*- |\s*(?:- )?["']?[\w.$/-]{1,80}["']?:(?:\s|$))/

function isYaml(lines: readonly string[]): boolean {
  const written = lines.filter((line) => YAML_LINE.test(line)).length
  const hasKey = lines.some((line) => /^[\w.$-]{1,80}:(?:\s|$)/.test(line))
  return lines.length >= MIN_RECORDS && hasKey && written >= lines.length * 0.9
}
