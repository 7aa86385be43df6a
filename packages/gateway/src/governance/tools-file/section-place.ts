import { camelCase } from '@sallyport/core'
import { isScalar } from 'yaml'
import { BLANK, type LinedText, lineAt, startOf } from './lined-text.ts'
import type { ParsedFile } from './parsed-file.ts'
import { sectionOf } from './read-sections.ts'
import { documentEnd, isBlockMap } from './tree-outline.ts'
import type { YamlValue } from './yaml-tree.ts'

/** Where something can be added to a section. Lines are told by what comes after the addition. */
export type SectionPlace =
  | { readonly kind: 'missing'; readonly line: number }
  | { readonly kind: 'closed'; readonly why: string }
  | {
      readonly kind: 'open'
      /** After what belongs to the section, and before the comments at the margin, which belong to the next. */
      readonly line: number
      /** After the blank lines that follow. */
      readonly lineAfterBlanks: number
      /** Nothing stands in the section yet. */
      readonly empty: boolean
      /** The indentation of its keys; undefined while there is none. */
      readonly indent: number | undefined
    }

const closed = (why: string): SectionPlace => ({ kind: 'closed', why })

export function placeIn(file: ParsedFile, name: 'tools' | 'tool_categories'): SectionPlace {
  const { root, source } = file
  if (root.pairs === undefined && !isUnwritten(root)) return closed('the file is not a mapping')
  if (root.pairs !== undefined && !isBlockMap(root)) return closed('the file is one mapping in flow style ({…})')
  const pair = sectionOf(root, name)
  if (pair === undefined) return { kind: 'missing', line: documentEnd(source) }
  const cut = file.sections.find((section) => section.name === name || section.name === camelCase(name))
  const at = file.originalOffset(pair.at)
  if (cut === undefined || at !== startOf(source, cut.line))
    return closed('its top-level keys are indented or inherited')
  if (pair.aliased) return closed(`${name} is an alias (*…)`)
  const indent = name === 'tools' ? file.entries.find((entry) => entry.cut)?.cut?.indent : undefined
  if (indent === undefined && !isBlockMap(pair.target) && !isUnwritten(pair.target))
    return closed(`${name} is not written in block style, one key on each line`)
  const line = lineAfterIndented(source, cut.line + 1, cut.end)
  return {
    kind: 'open',
    line,
    lineAfterBlanks: lineAfterBlanks(source, line, cut.end),
    empty: line === cut.line + 1,
    indent: indent ?? columnOf(pair.target, file),
  }
}

/** Nothing at all, not even `~`. */
function isUnwritten({ node, value }: YamlValue): boolean {
  return value === null && (node === null || (isScalar(node) && node.source === ''))
}

/** The column of the first key of a mapping in block style. */
export function columnOf(value: YamlValue | undefined, { source, originalOffset }: ParsedFile): number | undefined {
  if (value === undefined || value.node === null || !isBlockMap(value)) return undefined
  const offset = originalOffset(value.node.range[0])
  return offset - startOf(source, lineAt(source, offset))
}

function lineAfterIndented(source: LinedText, from: number, end: number): number {
  for (let line = end; line > from; line--) {
    const first = source.text[startOf(source, line - 1)]
    if (source.indents[line - 1] !== BLANK && (first === ' ' || first === '\t')) return line
  }
  return from
}

function lineAfterBlanks(source: LinedText, from: number, end: number): number {
  let line = from
  while (line < end && source.indents[line] === BLANK) line++
  return line
}
