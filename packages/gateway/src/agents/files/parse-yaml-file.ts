import { createRequire } from 'node:module'
import type { Json } from '@sallyport/core'
import type { CST } from 'yaml'
import { describeYamlProblem, parseYaml } from '../../config/config.ts'
import { isTooDeep, MAX_DEPTH, type ParsedText, problemAt, TOO_DEEP } from './parsed-text.ts'

/** With aliases a small file can expand to a huge value. */
const MAX_ALIASES = 100

type Yaml = typeof import('yaml')

let loaded: Yaml | undefined

/** Loaded only for a YAML file: few agents use YAML, and a hook that reads other files must start fast. */
function yaml(): Yaml {
  loaded ??= createRequire(import.meta.url)('yaml') as Yaml
  return loaded
}

/** YAML 1.2. An empty text is an empty object. */
export function parseYamlFile(text: string): ParsedText {
  const deep = findTooDeepOffset(text)
  if (deep !== undefined) return problemAt(text, deep, TOO_DEEP)
  const { LineCounter, parseDocument } = yaml()
  const lines = new LineCounter()
  const document = parseYaml({ parse: parseDocument, text, lineCounter: lines })
  if (document === undefined) return problemAt(text, 0, TOO_DEEP)
  const [issue] = [...document.errors, ...document.warnings]
  if (issue !== undefined) {
    const { line, col } = lines.linePos(issue.pos[0])
    return { ok: false, line: Math.max(1, line), column: Math.max(1, col), problem: describeYamlProblem(issue.code) }
  }
  try {
    const value = document.toJS({ maxAliasCount: MAX_ALIASES }) as Json | undefined
    return isTooDeep(value) ? problemAt(text, 0, TOO_DEEP) : { ok: true, value: value ?? {} }
  } catch (error) {
    // An alias is undefined, or expands to too much.
    if (error instanceof ReferenceError) return problemAt(text, 0, 'its aliases ("*name") cannot be resolved.')
    throw error
  }
}

/** Where the value of these keys begins. */
export function findYamlOffset(text: string, keys: readonly string[]): number | undefined {
  const { isNode, parseDocument } = yaml()
  const found: unknown = parseDocument(text).getIn(keys, true)
  return isNode(found) ? found.range?.[0] : undefined
}

/**
 * Where the nesting exceeds the limit. The composer recurses until the stack is full; if it then needs a regular
 * expression that is not compiled yet, V8 ends the process. The tokenizer does not recurse, so it is used here.
 */
function findTooDeepOffset(text: string): number | undefined {
  for (const document of new (yaml().Parser)().parse(text)) {
    const waiting: { readonly token: CST.Token; readonly depth: number }[] = [{ token: document, depth: 0 }]
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const { token, depth } = next
      if (depth > MAX_DEPTH) return token.offset
      for (const part of listChildTokens(token)) waiting.push({ token: part, depth: depth + 1 })
    }
  }
  return undefined
}

function listChildTokens(token: CST.Token): readonly CST.Token[] {
  if (token.type === 'document') return token.value ? [token.value] : []
  if (!('items' in token)) return []
  return token.items.flatMap(({ key, value }) => [key, value].filter((part) => part !== undefined && part !== null))
}
