import type { FileEntry, ParsedFile } from './parsed-file.ts'
import { columnOf } from './section-place.ts'

const USUAL = '  '

/** How a file is indented, as white space to put before a line. */
export interface Indentation {
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
