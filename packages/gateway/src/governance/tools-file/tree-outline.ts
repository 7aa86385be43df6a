import { isMap } from 'yaml'
import { type LinedText, lineAt, lineText, startOf } from './lined-text.ts'
import type { Outline } from './outline.ts'
import type { YamlValue } from './yaml-tree.ts'

interface Cut {
  readonly key: string
  readonly line: number
  readonly end: number
  readonly indent: number
}

/** The cuts of a file that was parsed as a whole. */
export function outlineOf(root: YamlValue, source: LinedText): Outline {
  const sections = cutPairs(root, documentEnd(source), source)
  const tools = sections.find(({ key }) => key === 'tools')
  const value = root.pairs?.get('tools')?.target
  return {
    sections: sections.map(({ key, line, end }) => ({ name: key, line, end })),
    entries: tools === undefined || value === undefined ? [] : cutPairs(value, tools.end, source),
  }
}

/** Whether a value is a mapping whose keys stand on lines of their own. */
export const isBlockMap = ({ node }: YamlValue): boolean => node !== null && isMap(node) && node.flow !== true

function cutPairs(value: YamlValue, end: number, source: LinedText): readonly Cut[] {
  if (!isBlockMap(value)) return []
  const own = [...(value.pairs?.values() ?? [])].filter(({ inherited }) => !inherited)
  const lines = own.map(({ at }) => lineAt(source, at))
  return own.map(({ key, at }, index) => {
    const line = lines[index] ?? 0
    return { key, line, end: lines[index + 1] ?? end, indent: at - startOf(source, line) }
  })
}

/** The line of `...`, or the one after the last. */
export function documentEnd(source: LinedText): number {
  const marked = source.indents.findIndex(
    (indent, line) => indent === 0 && /^\.\.\.\s*(?:#|$)/.test(lineText(source, line)),
  )
  return marked === -1 ? source.starts.length : marked
}
