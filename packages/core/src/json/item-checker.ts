import type { Span } from './envelope.ts'
import {
  BLOCK_RULES,
  CONTENTS_OPTIONAL,
  describeRequirement,
  type Expected,
  ITEM_MEMBERS,
  type ItemKind,
  MEMBER,
  ROLES,
} from './item-rules.ts'
import { OPEN_OBJECT, QUOTE } from './json-bytes.ts'

// The kinds of characters in base64.
const OTHER = 0
const DIGIT = 1
const PAD = 2
const BLANK = 3

const KINDS = buildKinds()

/** Checks base64 as it arrives, by the rules of `atob`: white space is allowed anywhere, padding is optional. */
class Base64Check {
  #digits = 0
  #pads = 0
  #isBroken = false

  reset(): void {
    this.#digits = 0
    this.#pads = 0
    this.#isBroken = false
  }

  /** Consumes a run of digits and returns its end: nearly all of a base64 string is one such run. */
  skipDigits(chunk: Uint8Array, from: number): number {
    if (this.#pads > 0) return from
    const end = digitsEnd(chunk, from)
    this.#digits += end - from
    return end
  }

  /** A run of bytes without escapes. */
  feed(chunk: Uint8Array, from: number, end: number): void {
    for (let at = from; at < end; at++) this.add(chunk[at] as number)
  }

  /** One character, such as an escape that was decoded. */
  add(code: number): void {
    const kind = code < KINDS.length ? (KINDS[code] as number) : OTHER
    if (kind === DIGIT && this.#pads === 0) this.#digits++
    else if (kind === PAD) this.#pads++
    else if (kind !== BLANK) this.#isBroken = true
  }

  get isValid(): boolean {
    if (this.#isBroken || this.#digits % 4 === 1) return false
    return this.#pads === 0 || (this.#pads < 3 && (this.#digits + this.#pads) % 4 === 0)
  }
}

function buildKinds(): Uint8Array {
  const kinds = new Uint8Array(256)
  for (const char of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/')
    kinds[char.charCodeAt(0)] = DIGIT
  for (const char of ' \t\n\f\r') kinds[char.charCodeAt(0)] = BLANK
  kinds['='.charCodeAt(0)] = PAD
  return kinds
}

function digitsEnd(chunk: Uint8Array, from: number): number {
  const kinds = KINDS
  let at = from
  // Four at a time, for speed.
  for (const last = chunk.length - 3; at < last; at += 4) {
    const a = kinds[chunk[at] as number] as number
    const b = kinds[chunk[at + 1] as number] as number
    const c = kinds[chunk[at + 2] as number] as number
    const d = kinds[chunk[at + 3] as number] as number
    if ((a & b & c & d) !== DIGIT || (a | b | c | d) !== DIGIT) break
  }
  while (at < chunk.length && kinds[chunk[at] as number] === DIGIT) at++
  return at
}

/**
 * A part of a result that the protocol does not allow, or that needs a further check: a block or a message to replace,
 * resource contents because of which the result is refused, an optional member to cut or to check.
 */
export interface ItemProblem extends Span {
  readonly action: 'replace-block' | 'replace-message' | 'refuse' | 'cut' | 'check'
  /** The item that has the problem: `content[2]`. */
  readonly path: string
  /** What the protocol requires. */
  readonly requirement: string
}

/** A server with more problems only wants to waste our time. */
const MAX_PROBLEMS = 1_000
/** Per object. More would mean that members are repeated. */
const MAX_SPANS = 100
/** Members whose strings are read. */
const CAPTURED = MEMBER.type | MEMBER.role
const CHECKED = MEMBER.annotations | MEMBER.icons | MEMBER.size

const ITEM_KINDS: Readonly<Record<string, ItemKind>> = { content: 'block', contents: 'contents', messages: 'message' }

interface MemberSpan extends Span {
  readonly bit: number
}

/** The state of one object that is being read. */
class ItemFrame {
  kind: ItemKind = 'block'
  depth = 0
  start = 0
  /** The member whose value is being read. */
  bit = 0
  expected: Expected = 'string'
  keyStart = 0
  /** Members that are present and valid. */
  valid = 0
  word = ''
  /** The problem of a nested object. */
  problem: string | undefined
  readonly spans: MemberSpan[] = []

  open(kind: ItemKind, depth: number, start: number): void {
    this.kind = kind
    this.depth = depth
    this.start = start
    this.bit = 0
    this.valid = 0
    this.word = ''
    this.problem = undefined
    if (this.spans.length > 0) this.spans.length = 0
  }
}

/**
 * Checks the items of a result while a scanner reads it: content blocks, messages of prompts, contents of resources.
 * They nest at most three deep: a message, its block, the resource in that block.
 */
export class ItemChecker {
  /** The depth of the innermost checked object; 0 outside of all. */
  depth = 0
  /** Whether the string that is being read has to be base64. */
  isBase64 = false
  readonly base64: Base64Check = new Base64Check()
  /** There are more problems than are reported. */
  hasTooManyProblems = false
  #problems: ItemProblem[] | undefined
  readonly #frames = [new ItemFrame(), new ItemFrame(), new ItemFrame()]
  #frame = this.#frames[0] as ItemFrame
  #level = -1
  #list = ''
  #index = -1
  /** Start of an item that is not an object; -1 if there is none. */
  #plainStart = -1

  get problems(): readonly ItemProblem[] | undefined {
    return this.#problems
  }

  openList(list: string): void {
    this.#list = list
    this.#index = -1
  }

  openItem(depth: number, position: number): void {
    this.#index++
    this.#push(ITEM_KINDS[this.#list] ?? 'block', depth, position)
  }

  beginPlainItem(position: number): void {
    this.#index++
    this.#plainStart = position
  }

  endItem(position: number): void {
    if (this.#plainStart === -1) return
    const kind = ITEM_KINDS[this.#list] ?? 'block'
    this.#replace(kind, { start: this.#plainStart, end: position }, 'it must be an object')
    this.#plainStart = -1
  }

  key(text: string, position: number): void {
    const frame = this.#frame
    const rule = ITEM_MEMBERS[frame.kind].get(text)
    frame.bit = rule?.bit ?? 0
    if (rule === undefined) return
    frame.expected = rule.expected
    frame.keyStart = position
  }

  /** Whether the string that begins here is read. */
  get capturesString(): boolean {
    return (this.#frame.bit & CAPTURED) !== 0
  }

  /** `byte` is the first byte of the value. Returns true if the value is an object that is checked too. */
  beginValue(byte: number, position: number): boolean {
    const frame = this.#frame
    const { bit, expected } = frame
    if (bit === 0) return false
    frame.valid &= ~bit
    if (expected === 'contents' || expected === 'block') {
      frame.problem = undefined
      if (byte !== OPEN_OBJECT || this.#level + 1 >= this.#frames.length) return false
      this.#push(expected, frame.depth + 1, position)
      return true
    }
    if (expected === 'base64' && byte === QUOTE) {
      this.isBase64 = true
      this.base64.reset()
    } else if (isExpected(expected, byte)) frame.valid |= bit
    return false
  }

  text(text: string): void {
    this.#frame.word = text
  }

  endMember(position: number): void {
    const frame = this.#frame
    const { bit } = frame
    if (bit === 0) return
    if (this.isBase64) {
      this.isBase64 = false
      if (this.base64.isValid) frame.valid |= bit
    }
    if ((frame.valid & bit) === 0 || (bit & CHECKED) !== 0) this.#addSpan(bit, position)
    frame.bit = 0
  }

  close(position: number): void {
    const frame = this.#frame
    const span = { start: frame.start, end: position }
    const problem = this.#findProblem(frame)
    this.#level--
    const parent = this.#level < 0 ? undefined : (this.#frames[this.#level] as ItemFrame)
    if (parent !== undefined) this.#frame = parent
    this.depth = parent?.depth ?? 0
    if (problem === undefined) {
      if (parent !== undefined) parent.valid |= parent.bit
    } else if (parent !== undefined && frame.kind === 'contents') parent.problem = problem
    else {
      this.#replace(frame.kind, span, problem)
      // A valid block replaces it.
      if (parent !== undefined) parent.valid |= parent.bit
    }
  }

  /** For a member of a result's `_meta` that the protocol defines, or the code in the data of an error. */
  addMetaCheck(span: Span): void {
    this.#add({ ...span, action: 'check', path: '_meta', requirement: '' })
  }

  #push(kind: ItemKind, depth: number, position: number): void {
    this.#level++
    this.#frame = this.#frames[this.#level] as ItemFrame
    this.#frame.open(kind, depth, position)
    this.depth = depth
  }

  #addSpan(bit: number, end: number): void {
    const { spans, keyStart } = this.#frame
    if (spans.length < MAX_SPANS) spans.push({ bit, start: keyStart, end })
    else this.hasTooManyProblems = true
  }

  /** The problem of a required member. If all are valid, records the problems of optional members. */
  #findProblem(frame: ItemFrame): string | undefined {
    if (frame.kind === 'block') return this.#findBlockProblem(frame)
    const { valid, word } = frame
    if (frame.kind === 'message') {
      if ((valid & MEMBER.role) === 0 || !ROLES.has(word)) return describeRequirement(MEMBER.role)
      return (valid & MEMBER.content) === 0 ? describeRequirement(MEMBER.content) : undefined
    }
    if ((valid & MEMBER.uri) === 0) return describeRequirement(MEMBER.uri)
    if ((valid & (MEMBER.text | MEMBER.blob)) === 0) return describeRequirement(MEMBER.text | MEMBER.blob)
    this.#addOptionalProblems(frame, CONTENTS_OPTIONAL)
    return undefined
  }

  #findBlockProblem(frame: ItemFrame): string | undefined {
    const { valid, word, start, problem } = frame
    if ((valid & MEMBER.type) === 0) return describeRequirement(MEMBER.type)
    // In a block of another type `resource` is an unknown field.
    if (word !== 'resource') this.#dropFrom(start)
    const rule = BLOCK_RULES.get(word)
    if (rule === undefined) return undefined
    const missing = rule.required & ~valid
    if (missing !== 0)
      return problem !== undefined && word === 'resource' ? `in "resource", ${problem}` : describeRequirement(missing)
    this.#addOptionalProblems(frame, rule.optional)
    return undefined
  }

  #addOptionalProblems({ spans }: ItemFrame, optional: number): void {
    for (const { bit, start, end } of spans) {
      if ((bit & optional) === 0) continue
      const action = (bit & CHECKED) === 0 ? 'cut' : 'check'
      this.#add({ start, end, action, path: this.#path, requirement: '' })
    }
  }

  get #path(): string {
    return `${this.#list}[${this.#index}]`
  }

  #replace(kind: ItemKind, { start, end }: Span, requirement: string): void {
    this.#dropFrom(start)
    const action = kind === 'contents' ? 'refuse' : kind === 'message' ? 'replace-message' : 'replace-block'
    this.#add({ start, end, action, path: this.#path, requirement })
  }

  /** Drops the problems inside a part that is replaced, or that the protocol does not define. */
  #dropFrom(start: number): void {
    const problems = this.#problems
    while (problems !== undefined && problems.length > 0 && (problems.at(-1) as ItemProblem).start > start)
      problems.pop()
  }

  #add(problem: ItemProblem): void {
    this.#problems ??= []
    if (this.#problems.length < MAX_PROBLEMS) this.#problems.push(problem)
    else this.hasTooManyProblems = true
  }
}

function isExpected(expected: Expected, byte: number): boolean {
  if (expected === 'string') return byte === QUOTE
  return expected === 'checked' || (expected === 'object' && byte === OPEN_OBJECT)
}
