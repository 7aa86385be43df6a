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

// What a character of a base64 text is.
const OTHER = 0
const DIGIT = 1
const PAD = 2
const BLANK = 3

const KINDS = kindsOf()

/** Tells whether a text is base64 as `atob` takes it, as it arrives: blanks anywhere, padding or none. */
class Base64Check {
  #digits = 0
  #pads = 0
  #isBroken = false

  reset(): void {
    this.#digits = 0
    this.#pads = 0
    this.#isBroken = false
  }

  /** Takes what are plain digits from there on, and returns where they end: nearly all of a text is one run of them. */
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

function kindsOf(): Uint8Array {
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
  // Four at a time, as texts are read.
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
 * Something in a result that the protocol does not allow, or that has to be looked into: a block or a message to be
 * replaced, resource contents for which the result is refused, an optional member to be cut, one to be checked.
 */
export interface ItemProblem extends Span {
  readonly action: 'replace-block' | 'replace-message' | 'refuse' | 'cut' | 'check'
  /** Which item it is or belongs to: `content[2]`. */
  readonly path: string
  /** What the protocol demands. */
  readonly requirement: string
}

/** A server that makes more mistakes has no other aim than to keep us busy. */
const MAX_PROBLEMS = 1_000
/** Of one object: more are the same members over and over. */
const MAX_SPANS = 100
/** Strings that are read: `type` and `role`. */
const CAPTURED = MEMBER.type | MEMBER.role
const CHECKED = MEMBER.annotations | MEMBER.icons | MEMBER.size

const ITEM_KINDS: Readonly<Record<string, ItemKind>> = { content: 'block', contents: 'contents', messages: 'message' }

interface MemberSpan extends Span {
  readonly bit: number
}

/** One object that is being read. */
class ItemFrame {
  kind: ItemKind = 'block'
  depth = 0
  start = 0
  /** The member whose value is being read. */
  bit = 0
  expected: Expected = 'string'
  keyStart = 0
  /** Members that are there and are what they must be. */
  valid = 0
  word = ''
  /** What is wrong inside, where a member is such an object itself. */
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
 * Checks the items of a result while a scanner goes through it: content blocks, messages of prompts, contents of
 * resources. They are at most three deep in each other: a message, its block, the resource in that.
 */
export class ItemChecker {
  /** Of the innermost object that is checked; 0 outside of all. */
  depth = 0
  /** Whether the string that is being read has to be base64. */
  isBase64 = false
  readonly base64: Base64Check = new Base64Check()
  /** There are more flaws than are told. */
  hasTooManyProblems = false
  #problems: ItemProblem[] | undefined
  readonly #frames = [new ItemFrame(), new ItemFrame(), new ItemFrame()]
  #frame = this.#frames[0] as ItemFrame
  #level = -1
  #list = ''
  #index = -1
  /** Where an item began that is not an object. */
  #plainStart = -1

  get problems(): readonly ItemProblem[] | undefined {
    return this.#problems
  }

  openList(list: string): void {
    this.#list = list
    this.#index = -1
  }

  openItem(depth: number, place: number): void {
    this.#index++
    this.#push(ITEM_KINDS[this.#list] ?? 'block', depth, place)
  }

  beginPlainItem(place: number): void {
    this.#index++
    this.#plainStart = place
  }

  endItem(place: number): void {
    if (this.#plainStart === -1) return
    const kind = ITEM_KINDS[this.#list] ?? 'block'
    this.#replace(kind, { start: this.#plainStart, end: place }, 'it must be an object')
    this.#plainStart = -1
  }

  key(text: string, place: number): void {
    const frame = this.#frame
    const rule = ITEM_MEMBERS[frame.kind].get(text)
    frame.bit = rule?.bit ?? 0
    if (rule === undefined) return
    frame.expected = rule.expected
    frame.keyStart = place
  }

  /** Whether the string that begins here is read. */
  get capturesString(): boolean {
    return (this.#frame.bit & CAPTURED) !== 0
  }

  /** `byte` is what the value begins with. True where the value is an object to be checked itself. */
  beginValue(byte: number, place: number): boolean {
    const frame = this.#frame
    const { bit, expected } = frame
    if (bit === 0) return false
    frame.valid &= ~bit
    if (expected === 'contents' || expected === 'block') {
      frame.problem = undefined
      if (byte !== OPEN_OBJECT || this.#level + 1 >= this.#frames.length) return false
      this.#push(expected, frame.depth + 1, place)
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

  endMember(place: number): void {
    const frame = this.#frame
    const { bit } = frame
    if (bit === 0) return
    if (this.isBase64) {
      this.isBase64 = false
      if (this.base64.isValid) frame.valid |= bit
    }
    if ((frame.valid & bit) === 0 || (bit & CHECKED) !== 0) this.#addSpan(bit, place)
    frame.bit = 0
  }

  close(place: number): void {
    const frame = this.#frame
    const span = { start: frame.start, end: place }
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
      // It is replaced by a valid one.
      if (parent !== undefined) parent.valid |= parent.bit
    }
  }

  /** A member of a result's `_meta` that the protocol describes, or the code in the data of an error. */
  addMetaCheck(span: Span): void {
    this.#add({ ...span, action: 'check', path: '_meta', requirement: '' })
  }

  #push(kind: ItemKind, depth: number, place: number): void {
    this.#level++
    this.#frame = this.#frames[this.#level] as ItemFrame
    this.#frame.open(kind, depth, place)
    this.depth = depth
  }

  #addSpan(bit: number, end: number): void {
    const { spans, keyStart } = this.#frame
    if (spans.length < MAX_SPANS) spans.push({ bit, start: keyStart, end })
    else this.hasTooManyProblems = true
  }

  /** What a required member lacks; where all are valid, what is wrong with optional ones is noted. */
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
    // In a block of another type it is an unknown field.
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

  /** What was found inside of something that goes, or that is not the protocol's. */
  #dropFrom(start: number): void {
    const flaws = this.#problems
    while (flaws !== undefined && flaws.length > 0 && (flaws.at(-1) as ItemProblem).start > start) flaws.pop()
  }

  #add(flaw: ItemProblem): void {
    this.#problems ??= []
    if (this.#problems.length < MAX_PROBLEMS) this.#problems.push(flaw)
    else this.hasTooManyProblems = true
  }
}

function isExpected(expected: Expected, byte: number): boolean {
  if (expected === 'string') return byte === QUOTE
  return expected === 'checked' || (expected === 'object' && byte === OPEN_OBJECT)
}
