import { createFileIssue } from './file-issue.ts'
import { findColumn } from './insertion-point.ts'
import { type Intent, matchesIntent } from './matches-intent.ts'
import { type FileEntry, type ParsedFile, type ParseResult, parseChanged } from './parsed-file.ts'
import { applySplices, type EditResult, type Splice } from './splice.ts'
import { detectLineEnding, lineStart, type TextLines } from './text-lines.ts'

/** Whole lines to insert before a line. */
export interface Insertion {
  readonly line: number
  readonly lines: readonly string[]
}

/** Inserts whole lines before a line, with the same line endings as around it. */
export function insertLines(source: TextLines, { line, lines }: Insertion): Splice {
  const at = lineStart(source, line)
  const end = detectLineEnding(source, at)
  const isOpen = at > lineStart(source, 0) && !source.text.endsWith('\n', at)
  return { at, removed: '', inserted: `${isOpen ? end : ''}${lines.join(end)}${end}` }
}

/** Sorts insertions by position. Insertions at the same line are joined in the given order. */
export function insertAll(source: TextLines, insertions: readonly Insertion[]): readonly Splice[] {
  const byLine = new Map<number, readonly string[]>()
  for (const { line, lines } of insertions) byLine.set(line, [...(byLine.get(line) ?? []), ...lines])
  return [...byLine].toSorted(([a], [b]) => a - b).map(([line, lines]) => insertLines(source, { line, lines }))
}

/** Invisible characters, characters that end a line in some YAML version or editor, and characters that YAML forbids. */
const INVISIBLE = /[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]+/gu

/** Makes untrusted text safe for a comment: one line, visible characters and single spaces, at most `maxLength` characters. */
export function toCommentText(text: string, maxLength: number): string {
  // Only the beginning is processed, because a description can be of any size.
  const visible = text
    .slice(0, maxLength * 16)
    .replaceAll(INVISIBLE, ' ')
    .trim()
  const characters = [...visible]
  if (characters.length <= maxLength) return visible
  return `${characters
    .slice(0, maxLength - 1)
    .join('')
    .trimEnd()}…`
}

const DEFAULT_INDENT = '  '

/** The indentation of a file, as strings of spaces. */
interface Indentation {
  /** The indentation of entries. */
  readonly level: string
  /** The additional indentation of fields. */
  readonly step: string
}

/** Uses the indentation of the entries; if there are none, that of the sections. */
export function detectIndentation(file: ParsedFile): Indentation {
  const sections = [...(file.root.pairs?.values() ?? [])].map(({ target }) => findColumn(target, file))
  const sectionLevel = spaces(sections.find((column) => column !== undefined && column > 0))
  const entries = file.entries.filter(({ range }) => range !== undefined)
  const toolsLevel = entries[0]?.range?.indent ?? findColumn(file.root.pairs?.get('tools')?.target, file)
  const level = spaces(toolsLevel) ?? sectionLevel ?? DEFAULT_INDENT
  const step = spaces(entries.map((entry) => measureStep(entry, file)).findLast((width) => width !== undefined))
  return { level, step: step ?? level }
}

const spaces = (width: number | undefined): string | undefined => (width === undefined ? undefined : ' '.repeat(width))

function measureStep({ range, parsed }: FileEntry, file: ParsedFile): number | undefined {
  const column = parsed === undefined ? range?.fields?.[0]?.indent : findColumn(parsed, file)
  return column === undefined || range === undefined || column <= range.indent ? undefined : column - range.indent
}

interface PlannedChange {
  readonly file: ParsedFile
  readonly intent: Intent
  /** Ways to write it, the preferred one first. */
  readonly attempts: readonly (readonly Splice[])[]
}

/** Applies the first attempt after which the file has its old content plus the intended change. If none does, nothing is changed. */
export function changeSafely({ file, intent, attempts }: PlannedChange): EditResult {
  for (const splices of attempts) {
    const text = applySplices(file.source.text, splices)
    const parsing = parseChanged(text, file, splices[0]?.at ?? 0)
    if (!parsing.ok || !matchesIntent(file, parsing.file, intent)) continue
    return { ok: true, text, splices, skipped: [], parsing }
  }
  return { ok: false, why: 'its style does not allow adding anything here without changing other parts of the file' }
}

/** Why a file that cannot be parsed is not changed. */
export function refuseUnparsed({ source, problem }: Extract<ParseResult, { ok: false }>): EditResult {
  const issue = createFileIssue(source, problem.offset, problem.problem)
  return { ok: false, why: `it cannot be read: line ${issue.line}, column ${issue.column}: ${issue.problem}` }
}
