import type { LocatedEntry, LocatedItem, LocatedNode, LocatedScalar } from './located-tree.ts'

/** Longer, deeper or larger input than a person would write is left to the full parser, which reports what is wrong. */
const MAX_LINE = 1_000
const MAX_DEPTH = 32
const MAX_NODES = 150_000

/** Characters with a special meaning in YAML: tab, carriage return, byte order mark, unpaired surrogates. */
const UNUSUAL = /[^\n -~\u00a1-\u1fff]/

const DOUBLE = String.raw`"(?:[^"\\]|\\["\\/bfnrt]|\\u[\da-fA-F]{4})*"`
const SINGLE = `'[^']*'`
const NUMBER = String.raw`0|-?[1-9]\d{0,14}`
/** Plain strings without special characters, in block style and between brackets. */
const WORD = String.raw`(?:[\w./@~+=$%&?,\x7b\x7d-]|:(?=[\w/]))+`
const PLAIN = String.raw`(?:[A-Za-z_/]|\.\.?/|~/|\$\x7b)(?:${WORD})?(?: +${WORD})*`
const PLAIN_ITEM = String.raw`[A-Za-z_/][\w./@~+=-]*`
const ITEM = `${PLAIN_ITEM}|${NUMBER}|${DOUBLE}|${SINGLE}`

const BLANK = /^ *(?:#|$)/
const HEAD = new RegExp(String.raw`^( *)(?:([A-Za-z_][\w.-]*|${DOUBLE}):|-)(?= |$) *`)
const SCALAR = new RegExp(`^(${PLAIN}|${NUMBER}|${DOUBLE}|${SINGLE})(?: *$| +#)`)
const EMPTY_MAP = /^\{\}(?: *$| +#)/
const LIST = new RegExp(String.raw`^\[ *(?:(?:${ITEM}) *(?:, *(?:${ITEM}) *)*)?\](?: *$| +#)`)
const ITEMS = new RegExp(ITEM, 'g')

const WORDS: ReadonlyMap<string, LocatedScalar> = new Map([
  ['true', true],
  ['false', false],
  ['null', null],
])
const NULL_NODE: LocatedNode = { kind: 'scalar', value: null, source: '' }

/** The mappings and lists that are open at a line, each indented further than the one before. */
type OpenCollection = { readonly indent: number } & (
  | { readonly kind: 'map'; readonly entries: LocatedEntry[]; readonly keys: Set<string> }
  | { readonly kind: 'list'; readonly items: LocatedItem[] }
)

interface Line {
  readonly indent: number
  /** Where the key begins; for a list item, where the value begins. */
  readonly offset: number
  /** Undefined for an item of a list. */
  readonly key: string | undefined
  /** Undefined if the value follows on later lines, or is missing. */
  readonly node: LocatedNode | undefined
}

/**
 * Reads YAML with one key or item per line, as most people write it and as an import writes it. This is ten times as fast
 * as the full parser, which takes a second for thousands of servers. Returns `undefined` for everything else, including
 * errors.
 */
export function readSimpleYaml(text: string): LocatedNode | undefined {
  if (UNUSUAL.test(text)) return undefined
  const reader = new SimpleReader()
  for (let start = 0; start < text.length; ) {
    const found = text.indexOf('\n', start)
    const end = found < 0 ? text.length : found
    if (!reader.read(text.slice(start, end), start)) return undefined
    start = end + 1
  }
  return reader.finish()
}

class SimpleReader {
  readonly #open: OpenCollection[] = []
  /** The last key, until its value is found. */
  #pending: { readonly indent: number; readonly key: string; readonly offset: number } | undefined
  #root: LocatedNode | undefined
  #nodes = 1

  /** Returns false if the line is not simple. */
  read(text: string, start: number): boolean {
    if (BLANK.test(text)) return true
    const line = text.length > MAX_LINE ? undefined : readLine(text, start)
    if (line === undefined || !this.#findCollection(line)) return false
    const open = this.#open.at(-1)
    this.#nodes += line.node?.kind === 'list' ? line.node.items.length + 1 : 1
    return open !== undefined && this.#nodes <= MAX_NODES && this.#add(open, line)
  }

  finish(): LocatedNode | undefined {
    this.#resolvePending(NULL_NODE)
    return this.#root
  }

  /** Whether the line continues an open collection, or opens the value of the pending key. */
  #findCollection({ indent, key }: Line): boolean {
    const pending = this.#pending
    if (this.#root === undefined || (pending !== undefined && indent > pending.indent)) return this.#begin(indent, key)
    this.#resolvePending(NULL_NODE)
    while ((this.#open.at(-1)?.indent ?? 0) > indent) this.#open.pop()
    const open = this.#open.at(-1)
    return open?.indent === indent && (open.kind === 'map') === (key !== undefined)
  }

  #begin(indent: number, key: string | undefined): boolean {
    if (this.#open.length >= MAX_DEPTH || (this.#root === undefined && indent > 0)) return false
    const opened: OpenCollection =
      key === undefined ? { kind: 'list', indent, items: [] } : { kind: 'map', indent, entries: [], keys: new Set() }
    const node: LocatedNode =
      opened.kind === 'list' ? { kind: 'list', items: opened.items } : { kind: 'map', entries: opened.entries }
    this.#root ??= node
    this.#resolvePending(node)
    this.#open.push(opened)
    return true
  }

  #resolvePending(node: LocatedNode): void {
    const open = this.#open.at(-1)
    if (this.#pending !== undefined && open?.kind === 'map')
      open.entries.push({ key: this.#pending.key, offset: this.#pending.offset, node })
    this.#pending = undefined
  }

  #add(open: OpenCollection, { indent, key, offset, node }: Line): boolean {
    if (open.kind === 'list') {
      if (node === undefined) return false
      open.items.push({ offset, node })
      return true
    }
    if (key === undefined || open.keys.has(key)) return false
    open.keys.add(key)
    if (node === undefined) this.#pending = { indent, key, offset }
    else open.entries.push({ key, offset, node })
    return true
  }
}

function readLine(text: string, start: number): Line | undefined {
  const head = HEAD.exec(text)
  if (head === null) return undefined
  const [{ length }, { length: indent } = '', name] = head
  const key = name === undefined ? undefined : readKey(name)
  if (name !== undefined && key === undefined) return undefined
  const rest = text.slice(length)
  const offset = start + (name === undefined ? length : indent)
  if (rest === '' || rest.startsWith('#')) return { indent, key, offset, node: undefined }
  const node = readValue(rest, start + length)
  return node && { indent, key, offset, node }
}

function readKey(name: string): string | undefined {
  const key = name.startsWith('"') ? unquote(name) : name
  return key === '<<' || WORDS.has(name.toLowerCase()) ? undefined : key
}

function readValue(text: string, offset: number): LocatedNode | undefined {
  if (text.startsWith('[')) return LIST.test(text) ? readList(text, offset) : undefined
  if (EMPTY_MAP.test(text)) return { kind: 'map', entries: [] }
  const source = SCALAR.exec(text)?.[1]
  return source === undefined ? undefined : readScalar(source)
}

function readList(text: string, offset: number): LocatedNode | undefined {
  const items: LocatedItem[] = []
  for (const { 0: source, index } of text.slice(0, text.lastIndexOf(']')).matchAll(ITEMS)) {
    const node = readScalar(source)
    if (node === undefined) return undefined
    items.push({ offset: offset + index, node })
  }
  return { kind: 'list', items }
}

function readScalar(source: string): LocatedNode | undefined {
  if (/^["']/.test(source)) {
    const value = unquote(source)
    return { kind: 'scalar', value, source: value }
  }
  if (/^[-\d]/.test(source)) return { kind: 'scalar', value: Number(source), source }
  const word = WORDS.get(source)
  if (word === undefined && WORDS.has(source.toLowerCase())) return undefined
  return { kind: 'scalar', value: word === undefined ? source : word, source }
}

const unquote = (quoted: string): string =>
  quoted.startsWith('"') ? (JSON.parse(quoted) as string) : quoted.slice(1, -1)
