import { createFileIssue } from './file-issue.ts'
import { columnOf } from './insertion-point.ts'
import { type Intent, matchesIntent } from './matches-intent.ts'
import { type FileEntry, type ParsedFile, type ParseResult, parseChanged } from './parsed-file.ts'
import { applySplices, type EditResult, type Splice } from './splice.ts'
import { detectLineEnding, lineStart, type TextLines } from './text-lines.ts'

/** Whole lines that are to stand before a line. */
export interface Insertion {
  readonly line: number
  readonly lines: readonly string[]
}

/** Puts whole lines before a line, with line ends like those around. */
export function insertLines(source: TextLines, { line, lines }: Insertion): Splice {
  const at = lineStart(source, line)
  const end = detectLineEnding(source, at)
  const isOpen = at > lineStart(source, 0) && !source.text.endsWith('\n', at)
  return { at, removed: '', inserted: `${isOpen ? end : ''}${lines.join(end)}${end}` }
}

/** Several insertions in the order of the text; those at one line become one, in the order given. */
export function insertAll(source: TextLines, insertions: readonly Insertion[]): readonly Splice[] {
  const byLine = new Map<number, readonly string[]>()
  for (const { line, lines } of insertions) byLine.set(line, [...(byLine.get(line) ?? []), ...lines])
  return [...byLine].toSorted(([a], [b]) => a - b).map(([line, lines]) => insertLines(source, { line, lines }))
}

/** What does not show, what could end a line in some YAML or some editor, and what YAML does not allow at all. */
const UNSEEN = /[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]+/gu

/** Foreign text as it may stand behind a `#`: one line, visible characters and single spaces, no longer than told. */
export function toCommentText(text: string, length: number): string {
  // Looked at in part, since a description can be of any size; what is left out of it could have been spaces only.
  const seen = text
    .slice(0, length * 16)
    .replaceAll(UNSEEN, ' ')
    .trim()
  const characters = [...seen]
  if (characters.length <= length) return seen
  return `${characters
    .slice(0, length - 1)
    .join('')
    .trimEnd()}…`
}

const USUAL = '  '

/** How a file is indented, as white space to put before a line. */
interface Indentation {
  /** Of the entries. */
  readonly level: string
  /** Of the fields, in addition. */
  readonly step: string
}

/** As the last entry is; else as the sections are. */
export function detectIndentation(file: ParsedFile): Indentation {
  const sections = [...(file.root.pairs?.values() ?? [])].map(({ target }) => columnOf(target, file))
  const sectionLevel = spaces(sections.find((column) => column !== undefined && column > 0))
  const cuts = file.entries.filter(({ range }) => range !== undefined)
  const toolsLevel = cuts[0]?.range?.indent ?? columnOf(file.root.pairs?.get('tools')?.target, file)
  const level = spaces(toolsLevel) ?? sectionLevel ?? USUAL
  const step = spaces(cuts.map((entry) => stepOf(entry, file)).findLast((width) => width !== undefined))
  return { level, step: step ?? level }
}

const spaces = (width: number | undefined): string | undefined => (width === undefined ? undefined : ' '.repeat(width))

function stepOf({ range, parsed }: FileEntry, file: ParsedFile): number | undefined {
  const column = parsed === undefined ? range?.fields?.[0]?.indent : columnOf(parsed, file)
  return column === undefined || range === undefined || column <= range.indent ? undefined : column - range.indent
}

interface PlannedChange {
  readonly file: ParsedFile
  readonly intent: Intent
  /** Ways to write it, the preferred one first. */
  readonly attempts: readonly (readonly Splice[])[]
}

/** The first way after which the file, read again, says what it said and what was meant; else it is left alone. */
export function changeSafely({ file, intent, attempts }: PlannedChange): EditResult {
  for (const splices of attempts) {
    const text = applySplices(file.source.text, splices)
    const parsing = parseChanged(text, file, splices[0]?.at ?? 0)
    if (!parsing.ok || !matchesIntent(file, parsing.file, intent)) continue
    return { ok: true, text, splices, skipped: [], parsing }
  }
  return { ok: false, why: 'it is written so that nothing can be added here without changing what else it says' }
}

/** Why a file that cannot be parsed is left alone. */
export function refuseUnparsed({ source, problem }: Extract<ParseResult, { ok: false }>): EditResult {
  const { line, column, problem: told } = createFileIssue(source, problem.offset, problem.problem)
  return { ok: false, why: `it cannot be read: line ${line}, column ${column}: ${told}` }
}
