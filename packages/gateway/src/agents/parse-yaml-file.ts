import type { Json } from '@sallyport/core'
import { LineCounter, parseDocument } from 'yaml'
import { parseYaml, yamlProblem } from '../config/config.ts'
import { isTooDeep, type ParsedText, problemAt, TOO_DEEP } from './parsed-text.ts'

/** Aliases can make a small file mean a huge one. */
const MOST_ALIASES = 100

/** YAML 1.2. An empty text is an empty object. */
export function parseYamlFile(text: string): ParsedText {
  const lines = new LineCounter()
  const document = parseYaml({ parse: parseDocument, text, lineCounter: lines })
  if (document === undefined) return problemAt(text, 0, TOO_DEEP)
  const [fault] = [...document.errors, ...document.warnings]
  if (fault !== undefined) {
    const { line, col } = lines.linePos(fault.pos[0])
    return { ok: false, line: Math.max(1, line), column: Math.max(1, col), problem: yamlProblem(fault.code) }
  }
  try {
    const value = document.toJS({ maxAliasCount: MOST_ALIASES }) as Json | undefined
    return isTooDeep(value) ? problemAt(text, 0, TOO_DEEP) : { ok: true, value: value ?? {} }
  } catch (error) {
    // Of aliases that lead nowhere, or that mean too much; and of nesting that the reader of texts still bore.
    if (error instanceof ReferenceError) return problemAt(text, 0, 'its aliases ("*name") cannot be followed.')
    if (error instanceof RangeError) return problemAt(text, 0, TOO_DEEP)
    throw error
  }
}
