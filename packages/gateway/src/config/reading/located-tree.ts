import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type ParsedNode,
  parseDocument,
  type YAMLError,
  type YAMLMap,
} from 'yaml'
import { parseYaml } from './parse-yaml.ts'
import { readSimpleYaml } from './simple-yaml.ts'

/** A value of the file together with its location. */
export type LocatedNode =
  | { readonly kind: 'map'; readonly entries: readonly LocatedEntry[] }
  | { readonly kind: 'list'; readonly items: readonly LocatedItem[] }
  | { readonly kind: 'scalar'; readonly value: LocatedScalar; readonly source: string }

export type LocatedScalar = string | number | boolean | null

export interface LocatedItem {
  readonly offset: number
  readonly node: LocatedNode
}

export interface LocatedEntry extends LocatedItem {
  readonly key: string
}

export interface TextPosition {
  readonly line: number
  readonly column: number
}

export interface TreeProblem {
  readonly offset: number
  readonly problem: string
}

export interface LocatedTree {
  readonly root: LocatedNode
  readonly problems: readonly TreeProblem[]
  positionOf(offset: number): TextPosition
}

/** Parses YAML 1.2 (and so JSON) into values with locations. It never throws. */
export function parseTree(text: string): LocatedTree {
  const root = readSimpleYaml(text)
  return root === undefined ? parseTreeFully(text) : { root, problems: [], positionOf: createPositionLookup(text) }
}

/** Uses the full parser, which supports all of YAML. */
export function parseTreeFully(text: string): LocatedTree {
  const document = parseYaml({ parse: parseDocument, text })
  const positionOf = createPositionLookup(text)
  if (document === undefined) return { root: EMPTY, problems: [{ offset: 0, problem: NESTED }], positionOf }
  const problems = [...document.errors, ...document.warnings].map(toTreeProblem)
  if (problems.length > 0) return { root: EMPTY, problems, positionOf }
  const builder = new TreeBuilder(positionOf)
  const root = builder.build(document.contents, 0)
  return { root, problems: builder.problems, positionOf }
}

/** Finds the line starts on first use. */
function createPositionLookup(text: string): (offset: number) => TextPosition {
  let lines: LineCounter | undefined
  return (offset) => {
    lines ??= countLines(text)
    const { line, col } = lines.linePos(offset)
    return { line: Math.max(1, line), column: Math.max(1, col) }
  }
}

function countLines(text: string): LineCounter {
  const lines = new LineCounter()
  lines.addNewLine(0)
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines.addNewLine(at + 1)
  return lines
}

const NESTED = 'this is nested too deeply.'
const EMPTY: LocatedNode = { kind: 'scalar', value: null, source: '' }

function toTreeProblem(error: YAMLError): TreeProblem {
  return { offset: error.pos[0], problem: describeYamlProblem(error.code) }
}

/** Aliases can expand a small file into a huge tree ("billion laughs"), so the size of the tree is limited too. */
const MAX_NODES = 200_000
const MAX_DEPTH = 64

class TreeBuilder {
  readonly problems: TreeProblem[] = []
  readonly #positionOf: (offset: number) => TextPosition
  readonly #anchors = new Map<string, ParsedNode>()
  #nodes = 0

  constructor(positionOf: (offset: number) => TextPosition) {
    this.#positionOf = positionOf
  }

  build(node: ParsedNode | null, depth: number): LocatedNode {
    if (node === null || this.#exceeds(node, depth)) return EMPTY
    if (isAlias(node)) return this.#resolve(node.source, node.range[0], depth)
    let built: LocatedNode = EMPTY
    if (isScalar(node)) built = { kind: 'scalar', value: plainScalar(node.value), source: node.source }
    else if (isSeq(node)) built = { kind: 'list', items: this.#buildItems(node.items as ParsedNode[], depth) }
    else if (isMap(node)) built = { kind: 'map', entries: this.#buildEntries(node as YAMLMap.Parsed, depth) }
    if (node.anchor !== undefined) this.#storeAnchor(node.anchor, node)
    return built
  }

  /** Called after the value was built, so that no alias can refer to itself. */
  #storeAnchor(name: string, node: ParsedNode): void {
    const known = this.#anchors.get(name)
    if (known !== undefined && known !== node) this.#report(node.range[0], 'this anchor ("&name") is defined twice.')
    this.#anchors.set(name, node)
  }

  #exceeds(node: ParsedNode, depth: number): boolean {
    if (this.#nodes > MAX_NODES) return true
    this.#nodes++
    if (this.#nodes > MAX_NODES) this.#report(node.range[0], 'aliases make this file too large.')
    else if (depth > MAX_DEPTH) this.#report(node.range[0], NESTED)
    else return false
    return true
  }

  #resolve(name: string, offset: number, depth: number): LocatedNode {
    const target = this.#anchors.get(name)
    if (target !== undefined) return this.build(target, depth + 1)
    this.#report(offset, 'there is no anchor ("&name") before this alias ("*name").')
    return EMPTY
  }

  #buildItems(items: readonly ParsedNode[], depth: number): readonly LocatedItem[] {
    return items.map((item) => ({ offset: item.range[0], node: this.build(item, depth + 1) }))
  }

  #buildEntries(map: YAMLMap.Parsed, depth: number): readonly LocatedEntry[] {
    const entries: LocatedEntry[] = []
    const seen = new Map<string, number>()
    for (const { key: keyNode, value } of map.items) {
      const offset = keyNode?.range[0] ?? map.range[0]
      const key = isScalar(keyNode) ? toKey(keyNode.value, keyNode.source) : undefined
      const problem = this.#findKeyProblem(key, key === undefined ? undefined : seen.get(key))
      if (problem !== undefined) this.#report(offset, problem)
      if (key === undefined || problem !== undefined) continue
      seen.set(key, offset)
      entries.push({ key, offset, node: this.build(value as ParsedNode | null, depth + 1) })
    }
    return entries
  }

  #findKeyProblem(key: string | undefined, earlier: number | undefined): string | undefined {
    if (key === undefined) return 'expected a string as the key.'
    if (key === '<<')
      return 'merge keys ("<<") are not part of YAML 1.2. Give the whole value as an alias, or repeat it.'
    if (earlier === undefined) return undefined
    return `this key is used twice; the first one is in line ${this.#positionOf(earlier).line}.`
  }

  #report(offset: number, problem: string): void {
    this.problems.push({ offset, problem })
  }
}

function toKey(value: unknown, source: string): string | undefined {
  if (typeof value === 'string') return value
  return value === null || value === undefined ? undefined : source
}

/** The core schema produces strings, numbers, booleans and null; a tag could still produce something else. */
function plainScalar(value: unknown): LocatedScalar {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : null
}

/** Messages of the parser may quote the file, and so a secret. Only its error codes are used. */
const PARSER_PROBLEMS: Readonly<Record<string, string>> = {
  ALIAS_PROPS: 'an alias ("*name") cannot have an anchor or a tag.',
  BAD_ALIAS: 'this alias ("*name") is not valid.',
  BAD_DIRECTIVE: 'this "%" directive is not known.',
  BAD_DQ_ESCAPE: 'this escape is not valid in a double-quoted string. Write "\\\\" for a backslash.',
  BAD_INDENT:
    'the indentation is wrong here, or a "[" or "{" before it is not closed. Keys of a mapping start in the same column.',
  BAD_PROP_ORDER: 'anchors and tags must come before the value.',
  BAD_SCALAR_START: 'an unquoted string cannot begin with this character. Put it in quotes.',
  BLOCK_AS_IMPLICIT_KEY: 'a mapping cannot start on the same line as its key. Is a quote or a line break missing?',
  BLOCK_IN_FLOW: 'an indented block cannot be inside [ ] or { }.',
  DUPLICATE_KEY: 'this key is used twice.',
  IMPOSSIBLE: 'this is not YAML.',
  KEY_OVER_1024_CHARS: 'this key is too long.',
  MISSING_CHAR: 'a character is missing here: a closing quote, bracket or comma, or the space after ":" or "-".',
  MULTILINE_IMPLICIT_KEY: 'a key must be on one line. Is a ":" or a quote missing before it?',
  MULTIPLE_ANCHORS: 'a value can have only one anchor.',
  MULTIPLE_DOCS: 'the file contains several documents ("---"). Expected one.',
  MULTIPLE_TAGS: 'a value can have only one tag.',
  NON_STRING_KEY: 'keys must be strings.',
  RESOURCE_EXHAUSTION: 'this is nested too deeply.',
  TAB_AS_INDENT: 'a tab cannot be used as indentation. Use spaces.',
  TAG_RESOLVE_FAILED: 'this "!tag" is not known.',
  UNEXPECTED_TOKEN: 'this was not expected here. Is a quote, a ":" or a bracket missing before it?',
}

/** Turns an error code of the YAML parser into a message that a person can act on. */
export const describeYamlProblem = (code: string): string => PARSER_PROBLEMS[code] ?? 'this is not YAML.'
