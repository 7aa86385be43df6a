import { toCamelCase } from '@sallyport/core'
import { isScalar } from 'yaml'
import { documentEnd, isBlockMap, type ParsedFile } from './parsed-file.ts'
import { findSection } from './read-sections.ts'
import { BLANK, lineAt, lineStart, type TextLines } from './text-lines.ts'
import type { YamlValue } from './yaml-tree.ts'

/** Where something can be added to a section. The addition goes before the given line. */
export type InsertionPoint =
  | { readonly kind: 'missing'; readonly line: number }
  | { readonly kind: 'closed'; readonly why: string }
  | {
      readonly kind: 'open'
      /** After the content of the section, and before unindented comments, which belong to the next section. */
      readonly line: number
      /** After the blank lines that follow. */
      readonly lineAfterBlanks: number
      /** Whether the section is empty. */
      readonly empty: boolean
      /** The indentation of the keys; `undefined` if there are none. */
      readonly indent: number | undefined
    }

const notEditable = (why: string): InsertionPoint => ({ kind: 'closed', why })

export function findInsertionPoint(file: ParsedFile, name: 'tools' | 'tool_categories'): InsertionPoint {
  const { root, source } = file
  if (root.pairs === undefined && !isUnwritten(root)) return notEditable('the file is not a mapping')
  if (root.pairs !== undefined && !isBlockMap(root)) return notEditable('the file is one mapping in flow style ({…})')
  const pair = findSection(root, name)
  if (pair === undefined) return { kind: 'missing', line: documentEnd(source) }
  const cut = file.sections.find((section) => section.name === name || section.name === toCamelCase(name))
  const at = file.originalOffset(pair.at)
  if (cut === undefined || at !== lineStart(source, cut.line))
    return notEditable('its top-level keys are indented or inherited')
  if (pair.aliased) return notEditable(`${name} is an alias (*…)`)
  const indent = name === 'tools' ? file.entries.find((entry) => entry.range)?.range?.indent : undefined
  if (indent === undefined && !isBlockMap(pair.target) && !isUnwritten(pair.target))
    return notEditable(`${name} is not written in block style, one key on each line`)
  const line = lineAfterIndented(source, cut.line + 1, cut.end)
  return {
    kind: 'open',
    line,
    lineAfterBlanks: lineAfterBlanks(source, line, cut.end),
    empty: line === cut.line + 1,
    indent: indent ?? findColumn(pair.target, file),
  }
}

/** Whether there is no value at all, not even `~`. */
function isUnwritten({ node, value }: YamlValue): boolean {
  return value === null && (node === null || (isScalar(node) && node.source === ''))
}

/** The column of the first key of a mapping in block style. */
export function findColumn(value: YamlValue | undefined, { source, originalOffset }: ParsedFile): number | undefined {
  if (value === undefined || value.node === null || !isBlockMap(value)) return undefined
  const offset = originalOffset(value.node.range[0])
  return offset - lineStart(source, lineAt(source, offset))
}

function lineAfterIndented(source: TextLines, from: number, end: number): number {
  for (let line = end; line > from; line--) {
    const first = source.text[lineStart(source, line - 1)]
    if (source.indents[line - 1] !== BLANK && (first === ' ' || first === '\t')) return line
  }
  return from
}

function lineAfterBlanks(source: TextLines, from: number, end: number): number {
  let line = from
  while (line < end && source.indents[line] === BLANK) line++
  return line
}
