import { isMap } from 'yaml'
import { lineAt, lineStart, lineText, type TextLines } from './lined-text.ts'
import type { Outline } from './outline.ts'
import type { YamlValue } from './yaml-tree.ts'

interface KeyRange {
  readonly key: string
  readonly line: number
  readonly end: number
  readonly indent: number
}

/** The cuts of a file that was parsed as a whole. */
export function buildOutline(root: YamlValue, source: TextLines): Outline {
  const sections = listKeyRanges(root, documentEnd(source), source)
  const tools = sections.find(({ key }) => key === 'tools')
  const value = root.pairs?.get('tools')?.target
  return {
    sections: sections.map(({ key, line, end }) => ({ name: key, line, end })),
    entries: tools === undefined || value === undefined ? [] : listKeyRanges(value, tools.end, source),
  }
}

/** Whether a value is a mapping whose keys stand on lines of their own. */
export const isBlockMap = ({ node }: YamlValue): boolean => node !== null && isMap(node) && node.flow !== true

function listKeyRanges(value: YamlValue, end: number, source: TextLines): readonly KeyRange[] {
  if (!isBlockMap(value)) return []
  const own = [...(value.pairs?.values() ?? [])].filter(({ inherited }) => !inherited)
  const lines = own.map(({ at }) => lineAt(source, at))
  return own.map(({ key, at }, index) => {
    const line = lines[index] ?? 0
    return { key, line, end: lines[index + 1] ?? end, indent: at - lineStart(source, line) }
  })
}

/** The line of `...`, or the one after the last. */
export function documentEnd(source: TextLines): number {
  const marked = source.indents.findIndex(
    (indent, line) => indent === 0 && /^\.\.\.\s*(?:#|$)/.test(lineText(source, line)),
  )
  return marked === -1 ? source.starts.length : marked
}
