import { createRequire } from 'node:module'
import type { Json } from '@sallyport/core'
import type { JSONVisitor, ParseErrorCode, SyntaxKind } from 'jsonc-parser'
import { isTooDeep, MAX_DEPTH, type ParsedText, problemAt, TOO_DEEP } from './parsed-text.ts'

type JsoncParser = typeof import('jsonc-parser')

let loaded: JsoncParser | undefined

/**
 * Loaded only if a file is not plain JSON. Node cannot detect the names that this module exports, so `require` is used.
 */
function jsonc(): JsoncParser {
  loaded ??= createRequire(import.meta.url)('jsonc-parser') as JsoncParser
  return loaded
}

/** Parses JSON as agents accept it: with comments and trailing commas. An empty text is an empty object. */
export function parseJson(text: string): ParsedText {
  const plain = parsePlain(text)
  if (plain !== undefined) return { ok: true, value: plain }
  return parseCommented(text)
}

/** Files may have many megabytes (some agents store histories in them), and most are plain JSON. */
function parsePlain(text: string): Json | undefined {
  try {
    const value = JSON.parse(text) as Json
    return isTooDeep(value) ? undefined : value
  } catch {
    return undefined
  }
}

function parseCommented(text: string): ParsedText {
  const deep = findTooDeepOffset(text)
  if (deep !== undefined) return problemAt(text, deep, TOO_DEEP)
  const builder = createBuilder()
  jsonc().visit(text, builder.visitor, { allowTrailingComma: true, allowEmptyContent: true })
  const { problem, value } = builder.outcome()
  return problem === undefined
    ? { ok: true, value: value === undefined ? {} : value }
    : problemAt(text, problem.offset, problem.message)
}

/** Where the value of these keys begins. */
export function findJsonOffset(text: string, keys: readonly string[]): number | undefined {
  const { parseTree, findNodeAtLocation } = jsonc()
  const root = parseTree(text, [], { allowTrailingComma: true })
  return root && findNodeAtLocation(root, [...keys])?.offset
}

const OPENING: readonly SyntaxKind[] = [1, 3]
const CLOSING: readonly SyntaxKind[] = [2, 4]
const END: SyntaxKind = 17

/** Where the nesting exceeds the limit. Found with the scanner, because the parser recurses. */
function findTooDeepOffset(text: string): number | undefined {
  const scanner = jsonc().createScanner(text, true)
  let depth = 0
  for (let token = scanner.scan(); token !== END; token = scanner.scan()) {
    if (OPENING.includes(token)) depth++
    else if (CLOSING.includes(token)) depth--
    if (depth > MAX_DEPTH) return scanner.getTokenOffset()
  }
  return undefined
}

interface Problem {
  readonly offset: number
  readonly message: string
}

type OpenContainer = { readonly entries: [string, Json][]; key: string } | { readonly items: Json[] }

/** Builds the value, because the library drops a key named `__proto__`. Of two equal keys the last one applies. */
function createBuilder() {
  const open: OpenContainer[] = []
  let problem: Problem | undefined
  let value: Json | undefined
  const add = (part: Json): void => {
    const parent = open.at(-1)
    if (parent === undefined) value = part
    else if ('items' in parent) parent.items.push(part)
    else parent.entries.push([parent.key, part])
  }
  const close = (): void => {
    const ended = open.pop()
    if (ended !== undefined) add('items' in ended ? ended.items : Object.fromEntries(ended.entries))
  }
  const visitor: JSONVisitor = {
    onObjectBegin: () => void open.push({ entries: [], key: '' }),
    onObjectProperty: (key) => {
      const parent = open.at(-1)
      if (parent !== undefined && 'key' in parent) parent.key = key
    },
    onObjectEnd: close,
    onArrayBegin: () => void open.push({ items: [] }),
    onArrayEnd: close,
    onLiteralValue: add,
    onError: (code, offset) => {
      problem ??= { offset, message: PROBLEMS[code] ?? 'this is not JSON.' }
    },
  }
  return { visitor, outcome: () => ({ problem, value }) }
}

const PROBLEMS: Readonly<Partial<Record<ParseErrorCode, string>>> = {
  1: 'this is not a JSON value. Is a quote missing?',
  2: 'this is not a number.',
  3: 'expected a key in double quotes.',
  4: 'expected a value.',
  5: 'expected ":".',
  6: 'expected ",".',
  7: 'expected "}".',
  8: 'expected "]".',
  9: 'expected the end of the file.',
  10: 'a comment is not allowed here.',
  11: 'this comment does not end.',
  12: 'this string does not end: a closing quote is missing.',
  13: 'this number does not end.',
  14: 'this "\\u" escape is not well formed.',
  15: 'this escape does not exist. Write "\\\\" for a backslash.',
  16: 'this character must be escaped.',
}
