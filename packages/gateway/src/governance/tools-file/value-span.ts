import { toCamelCase } from '@sallyport/core'
import { isCollection, isScalar } from 'yaml'
import { lineStart } from './lined-text.ts'
import type { FileEntry, ParsedFile } from './parsed-file.ts'
import { columnOf } from './section-place.ts'
import type { YamlPair } from './yaml-tree.ts'

/** Where the value of a field stands, and what has to stand between its key and another one. */
export interface ValueSpan {
  /** As the field's name is written. */
  readonly key: string
  readonly from: number
  readonly to: number
  readonly prefix: string
}

export type SpanResult = ValueSpan | { readonly why: string } | undefined

/** The value that an entry itself gives to a field; nothing when it gives none, or inherits it. */
export function findSpan(file: ParsedFile, { range, parsed }: FileEntry, field: string): SpanResult {
  const isMeant = (key: string): boolean => toCamelCase(key) === toCamelCase(field)
  if (parsed !== undefined) {
    const own = [...(parsed.pairs?.values() ?? [])].filter(({ inherited }) => !inherited)
    const pair = own.find(({ key }) => isMeant(key))
    return pair && parsedSpan(file, pair, columnOf(parsed, file) ?? 0)
  }
  const plain = range?.fields?.find(({ written }) => isMeant(written.key))
  if (plain === undefined) return undefined
  const { line, indent, written } = plain
  const start = lineStart(file.source, line) + indent
  return spanOf(file, { key: written.key, from: start + written.from, to: start + written.to })
}

function spanOf({ source }: ParsedFile, span: Omit<ValueSpan, 'prefix'>): ValueSpan {
  return { ...span, prefix: source.text[span.from - 1] === ':' ? ' ' : '' }
}

function parsedSpan(file: ParsedFile, { key, target, aliased }: YamlPair, column: number): SpanResult {
  const { node } = target
  if (aliased) return { why: `the value of ${key} is an alias (*…)` }
  if (node === null) return { why: `the value of ${key} cannot be found` }
  if (node.anchor !== undefined || node.tag !== undefined) return { why: `the value of ${key} has an anchor or a tag` }
  const from = file.originalOffset(node.range[0])
  // Both ends stand in one entry, and what was cut out of the text is whole entries.
  const to = from + node.range[1] - node.range[0]
  if (isScalar(node) && node.type?.startsWith('BLOCK') === true)
    return { why: `the value of ${key} is a block of text` }
  if (!isCollection(node) || node.flow === true) return spanOf(file, { key, from, to })
  const written = file.source.text.slice(from, to).trimEnd()
  if (written.includes('#')) return { why: `comments stand in the value of ${key}` }
  const start = file.source.text.lastIndexOf('\n', from) + 1
  return { key, from, to: from + written.length, prefix: ' '.repeat(Math.max(0, column + 1 - (from - start))) }
}
