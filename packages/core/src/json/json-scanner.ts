import { META } from '../protocol.ts'
import { EnvelopeBuilder, type ScannedEnvelope, type Span } from './envelope.ts'
import { ItemChecker } from './item-checker.ts'
import {
  BACKSLASH,
  BREAK,
  BYTE_CLASSES,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  ESCAPES,
  findStringBreak,
  hexValue,
  isPlainScalar,
  LETTER_U,
  latin1,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  SCALAR_BYTE,
  SPACE,
  STRUCTURE,
  scalarEnd,
  skipString,
  TAB,
} from './json-bytes.ts'
import { RELATED_TASK } from './protocol-fields.ts'
import { isGatewayKey, META_KEY } from './reserved-meta.ts'

/** Nobody needs deeper nesting, and some parsers fail on it. */
export const MAX_DEPTH = 128
const MAX_SCALAR = 64

/** The envelope needs nothing below this depth. */
const ENVELOPE_DEPTH = 2
/** The items of a result are in a list of this depth. */
const ITEM_LIST_DEPTH = 3
const NO_BYTES = new Uint8Array()

// The states: what may come next.
const VALUE = 0
const VALUE_OR_CLOSE = 1
const KEY = 2
const KEY_OR_CLOSE = 3
const AFTER_KEY = 4
const AFTER_VALUE = 5
const IN_STRING = 6
const IN_SCALAR = 7
const DONE = 8

// Properties of an object or a list, as bits.
const OBJECT = 1
const META_OBJECT = 2
/** Data of a tool: its keys mean nothing to the protocol, at any depth. */
const DATA = 4
/** An error: keys of the gateway are recognized in it at any depth. */
const IN_ERROR = 8
/** A list of items of a result. */
const ITEMS = 16

// The meaning of the key before a value.
const OTHER_KEY = 0
const META_NAME = 1
const DATA_NAME = 2

const DATA_KEY = 'structuredContent'
/** Longer than every key that is recognized at any depth. */
const KNOWN_KEY_LENGTH = 40
const UNDERSCORE = 0x5f
const LETTER_A = 0x61
const LETTER_I = 0x69
const LETTER_M = 0x6d
const LETTER_O = 0x6f
const LETTER_S = 0x73
const LETTER_T = 0x74
const LETTER_P = 0x70
const LETTER_R = 0x72
/** Members of a result's `_meta` that clients check. */
const CHECKED_META: ReadonlySet<string> = new Set(['progressToken', RELATED_TASK])
/** A server that writes more only wants to waste our time. */
const MAX_RESERVED_MEMBERS = 1_000

const SCALAR = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/

/**
 * Scans JSON as it arrives, in chunks of any size, without storing it.
 *
 * It checks that the text is one well-formed JSON value and finds the parts of a JSON-RPC envelope. So an answer can be
 * passed on as bytes with another id, without being parsed and printed again.
 */
export class JsonScanner {
  /** Why the text is not acceptable: the first reason found. */
  failure: string | undefined

  readonly #envelope = new EnvelopeBuilder()
  readonly #maxDepth: number
  #state = VALUE
  #offset = 0
  #depth = 0
  readonly #kinds: number[] = []
  #deepest = 0
  #key = OTHER_KEY
  #keyStart = 0
  /** The depth of the reserved member whose value is being read; -1 if there is none. */
  #reservedDepth = -1
  #reservedStart = 0
  #reservedKind: 'own' | 'server' | 'checked' = 'own'
  #reservedMembers: Span[] | undefined
  #serverInfo: Span | undefined
  readonly #items = new ItemChecker()
  #members = 0
  #lineBreaks = false
  #isKey = false
  /** Inside an escape: 1 after the backslash, then 2 to 5 before each digit of \u. */
  #escape = 0
  #code = 0
  /** The beginning of a scalar that continues in the next chunk. */
  #scalar = ''
  #captured = ''
  #captureLimit = 0

  constructor(maxDepth: number = MAX_DEPTH) {
    this.#maxDepth = maxDepth
  }

  feed(chunk: Uint8Array): void {
    let at = 0
    while (at < chunk.length && this.failure === undefined) {
      at = this.#state === IN_STRING ? this.#scanString(chunk, at) : this.#scanStructure(chunk, at)
    }
    this.#offset += chunk.length
  }

  /** Call after the last chunk. */
  end(): ScannedEnvelope | undefined {
    if (this.failure === undefined && this.#state === IN_SCALAR) this.#endScalar(NO_BYTES, 0, 0)
    if (this.failure === undefined && this.#state !== DONE) this.#fail('the text ends too early')
    if (this.failure !== undefined) return undefined
    if (this.#items.hasTooManyProblems) this.#envelope.invalidate()
    return this.#envelope.build({
      bytes: this.#offset,
      hasLineBreaks: this.#lineBreaks,
      members: this.#members,
      depth: this.#deepest,
      reservedMembers: this.#reservedMembers,
      serverInfo: this.#serverInfo,
      itemProblems: this.#items.problems,
    })
  }

  #fail(reason: string): void {
    this.failure ??= `${reason} (near byte ${this.#offset})`
  }

  #scanStructure(chunk: Uint8Array, from: number): number {
    let at = from
    while (at < chunk.length && this.failure === undefined) {
      const byte = chunk[at] as number
      const kind = BYTE_CLASSES[byte] as number
      if (kind === SCALAR_BYTE || this.#state === IN_SCALAR) at = this.#scalarBytes(chunk, at)
      else if (byte === QUOTE) {
        this.#beginString(chunk, at)
        return at + 1
      } else {
        if (kind === STRUCTURE) this.#readPunctuation(byte, this.#offset + at)
        else if (kind === BREAK) this.#lineBreaks = this.#lineBreaks || byte !== TAB
        else if (kind !== SPACE) this.#fail(`an unexpected ${JSON.stringify(String.fromCharCode(byte))}`)
        at++
      }
    }
    return at
  }

  #readPunctuation(byte: number, position: number): void {
    if (byte === COMMA) this.#after(AFTER_VALUE, this.#parentIsObject() ? KEY : VALUE)
    else if (byte === COLON) this.#after(AFTER_KEY, VALUE)
    else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) this.#open(byte === OPEN_OBJECT, position)
    else this.#close(byte === CLOSE_OBJECT, position)
  }

  #after(expected: number, next: number): void {
    if (this.#state === expected) this.#state = next
    else this.#fail('an unexpected "," or ":"')
  }

  #expectsValue(): boolean {
    return this.#state === VALUE || this.#state === VALUE_OR_CLOSE
  }

  /** Reads the bytes of a number or a literal. They are checked once all of them have arrived. */
  #scalarBytes(chunk: Uint8Array, from: number): number {
    if (this.#state !== IN_SCALAR && !this.#beginScalar(chunk, from)) return from
    const end = scalarEnd(chunk, from)
    if (this.#scalar.length + end - from > MAX_SCALAR) this.#fail(`a number of more than ${MAX_SCALAR} digits`)
    else if (end === chunk.length) this.#scalar += latin1(chunk.subarray(from, end))
    else this.#endScalar(chunk, from, end)
    return end
  }

  #beginScalar(chunk: Uint8Array, at: number): boolean {
    if (!this.#expectsValue()) {
      this.#fail(`an unexpected ${JSON.stringify(String.fromCharCode(chunk[at] as number))}`)
      return false
    }
    this.#beginPlain(this.#offset + at, chunk[at] as number)
    this.#state = IN_SCALAR
    return true
  }

  #endScalar(chunk: Uint8Array, from: number, end: number): void {
    const isRecorded = this.#depth <= ENVELOPE_DEPTH && this.#parentIsObject()
    if (isRecorded || this.#scalar !== '' || !isPlainScalar(chunk, from, end)) {
      const text = this.#scalar + latin1(chunk.subarray(from, end))
      if (!SCALAR.test(text)) return this.#fail('a value that is not valid JSON')
      this.#envelope.scalar(isRecorded ? this.#depth : 0, text)
      this.#scalar = ''
    }
    this.#endValue(this.#offset + end)
  }

  #open(object: boolean, position: number): void {
    if (!this.#expectsValue()) this.#fail('an unexpected opening bracket')
    else if (this.#depth === this.#maxDepth) this.#fail(`nested deeper than ${this.#maxDepth}`)
    else {
      if (this.#depth <= ENVELOPE_DEPTH)
        this.#envelope.beginValue(this.#depth, position, object ? OPEN_OBJECT : OPEN_ARRAY)
      const kind = this.#containerKind(object, position)
      this.#kinds[this.#depth++] = kind
      if (this.#depth > this.#deepest) this.#deepest = this.#depth
      if (this.#depth <= ENVELOPE_DEPTH) this.#envelope.beginNested(this.#depth)
      this.#state = object ? KEY_OR_CLOSE : VALUE_OR_CLOSE
    }
  }

  #containerKind(object: boolean, position: number): number {
    const parent = this.#depth === 0 ? 0 : (this.#kinds[this.#depth - 1] as number)
    const inherited = parent & (DATA | IN_ERROR)
    const key = this.#key
    this.#key = OTHER_KEY
    if (this.#depth === 1 && this.#envelope.isError) return IN_ERROR | (object ? OBJECT : 0)
    if ((parent & ITEMS) !== 0) return this.#itemKind(object, position)
    if (this.#depth === this.#items.depth) this.#items.beginValue(object ? OPEN_OBJECT : OPEN_ARRAY, position)
    if (!object) return this.#opensItems() ? ITEMS : key === DATA_NAME ? DATA : inherited
    if (key === DATA_NAME) return OBJECT | DATA
    return OBJECT | inherited | (key === META_NAME ? META_OBJECT : 0)
  }

  #opensItems(): boolean {
    const list = this.#envelope.itemList(this.#depth)
    if (list === undefined) return false
    this.#items.openList(list)
    return true
  }

  #itemKind(object: boolean, position: number): number {
    if (object) this.#items.openItem(this.#depth + 1, position)
    else this.#items.beginPlainItem(position)
    return object ? OBJECT : 0
  }

  /** A value that is neither an object nor a list. */
  #beginPlain(position: number, byte: number): void {
    if (this.#depth <= ENVELOPE_DEPTH) this.#envelope.beginValue(this.#depth, position, byte)
    else if (this.#depth === this.#items.depth) this.#items.beginValue(byte, position)
    else if (this.#isItemList()) this.#items.beginPlainItem(position)
  }

  #isItemList(): boolean {
    return this.#depth === ITEM_LIST_DEPTH && ((this.#kinds[this.#depth - 1] as number) & ITEMS) !== 0
  }

  #close(object: boolean, position: number): void {
    const closable = this.#state === AFTER_VALUE || this.#state === (object ? KEY_OR_CLOSE : VALUE_OR_CLOSE)
    if (!closable || this.#depth === 0 || this.#parentIsObject() !== object) {
      this.#fail('an unexpected closing bracket')
      return
    }
    this.#depth--
    this.#key = OTHER_KEY
    if (this.#depth + 1 === this.#items.depth) this.#items.close(position + 1)
    this.#endValue(position + 1)
  }

  #parentIsObject(): boolean {
    return this.#depth > 0 && ((this.#kinds[this.#depth - 1] as number) & OBJECT) !== 0
  }

  #endValue(position: number): void {
    this.#state = this.#depth === 0 ? DONE : AFTER_VALUE
    if (this.#reservedDepth === this.#depth) this.#endReserved(position)
    if (this.#depth === this.#items.depth) this.#items.endMember(position)
    else if (this.#isItemList()) this.#items.endItem(position)
    if (this.#depth > ENVELOPE_DEPTH || !this.#parentIsObject()) return
    if (this.#depth === 1) this.#envelope.endValue(position)
    else this.#envelope.endMember(position)
  }

  #endReserved(end: number): void {
    const span = { start: this.#reservedStart, end }
    this.#reservedDepth = -1
    if (this.#reservedKind === 'checked') this.#items.addMetaCheck(span)
    else if (this.#reservedKind === 'server' && this.#serverInfo === undefined) this.#serverInfo = span
    else {
      this.#reservedMembers ??= []
      if (this.#reservedMembers.length < MAX_RESERVED_MEMBERS) this.#reservedMembers.push(span)
      else this.#envelope.invalidate()
    }
  }

  #beginString(chunk: Uint8Array, at: number): void {
    const position = this.#offset + at
    this.#isKey = this.#state === KEY || this.#state === KEY_OR_CLOSE
    if (!this.#isKey && !this.#expectsValue()) {
      this.#fail('an unexpected string')
      return
    }
    this.#captured = ''
    this.#state = IN_STRING
    if (this.#isKey) this.#beginKey(chunk, at)
    else {
      this.#captureLimit = this.#findCaptureLimit()
      if (this.#depth > 0) this.#beginPlain(position, QUOTE)
    }
  }

  /** How many characters of the string value that begins here have to be captured. */
  #findCaptureLimit(): number {
    if (this.#depth <= ENVELOPE_DEPTH) return this.#envelope.captureLimit(this.#depth, false)
    return this.#depth === this.#items.depth && this.#items.capturesString ? KNOWN_KEY_LENGTH : 0
  }

  #beginKey(chunk: Uint8Array, at: number): void {
    const position = this.#offset + at
    this.#keyStart = position
    this.#key = OTHER_KEY
    if (this.#depth > ENVELOPE_DEPTH) {
      const kind = this.#kinds[this.#depth - 1] as number
      const isCaptured =
        this.#depth === this.#items.depth ||
        (kind & IN_ERROR) !== 0 ||
        ((kind & DATA) === 0 && mayBeKnownKey(chunk, at + 1))
      this.#captureLimit = isCaptured ? KNOWN_KEY_LENGTH : 0
      return
    }
    this.#captureLimit = this.#envelope.captureLimit(this.#depth, true)
    this.#envelope.beginKey(this.#depth, position)
  }

  #scanString(chunk: Uint8Array, from: number): number {
    let at = from
    while (at < chunk.length && this.failure === undefined) {
      if (this.#escape !== 0) {
        this.#escapeByte(chunk[at++] as number)
        continue
      }
      if (this.#items.isBase64) at = this.#items.base64.skipDigits(chunk, at)
      const run = at
      const isRead = this.#captureLimit > 0 || this.#items.isBase64
      at = isRead ? findStringBreak(chunk, at) : skipString(chunk, at)
      if (isRead) this.#readRun(chunk, run, at)
      if (at === chunk.length) return at
      const byte = chunk[at++] as number
      if (byte === QUOTE) {
        this.#endString(this.#offset + at)
        return at
      }
      if (byte === BACKSLASH) this.#escape = 1
      else this.#fail('a control character inside a string')
    }
    return at
  }

  /** Only short strings near the top matter. Others are not captured. */
  #isCapturing(): boolean {
    return this.#captured.length <= this.#captureLimit && this.#captureLimit > 0
  }

  #readRun(chunk: Uint8Array, start: number, end: number): void {
    if (this.#items.isBase64) this.#items.base64.feed(chunk, start, end)
    if (start === end || !this.#isCapturing()) return
    this.#captured += latin1(chunk.subarray(start, Math.min(end, start + this.#captureLimit + 1)))
  }

  #escapeByte(byte: number): void {
    if (this.#escape > 1) return this.#hexDigit(byte)
    if (byte === LETTER_U) {
      this.#escape = 2
      this.#code = 0
      return
    }
    this.#escape = 0
    const code = ESCAPES[byte] as number
    if (code === 0) this.#fail('an unknown escape inside a string')
    else this.#readCode(code)
  }

  #hexDigit(byte: number): void {
    const digit = hexValue(byte)
    if (digit < 0) return this.#fail('an invalid \\u escape inside a string')
    this.#code = this.#code * 16 + digit
    if (this.#escape++ < 5) return
    this.#escape = 0
    this.#readCode(this.#code)
  }

  /** A character that was written as an escape. */
  #readCode(code: number): void {
    if (this.#items.isBase64) this.#items.base64.add(code)
    if (this.#isCapturing()) this.#captured += String.fromCharCode(code)
  }

  #endString(position: number): void {
    if (!this.#isKey) {
      if (this.#captureLimit > 0 && this.#parentIsObject()) this.#passString()
      this.#endValue(position)
      return
    }
    this.#members++
    this.#state = AFTER_KEY
    if (this.#captureLimit > 0) this.#recognizeKey()
    if (this.#depth > ENVELOPE_DEPTH) return
    if (!this.#envelope.key(this.#depth, this.#captured)) this.#fail(`the key "${this.#captured}" occurs twice`)
  }

  #passString(): void {
    if (this.#depth === this.#items.depth) this.#items.text(this.#captured)
    else this.#envelope.text(this.#depth, this.#captured)
  }

  /** What the key that ends here means for its value. */
  #recognizeKey(): void {
    const text = this.#captured
    const kind = this.#kinds[this.#depth - 1] as number
    if (this.#depth === this.#items.depth) this.#items.key(text, this.#keyStart)
    if ((kind & DATA) !== 0) return
    if (text === META_KEY) this.#key = META_NAME
    else if (text === DATA_KEY && this.#depth > 1) this.#key = DATA_NAME
    else if ((kind & (META_OBJECT | IN_ERROR)) !== 0) this.#recognizeReserved(text, kind)
  }

  #recognizeReserved(text: string, kind: number): void {
    const isMeta = (kind & META_OBJECT) !== 0
    const isServerInfo = isMeta && text === META.serverInfo
    const isResultMeta = isMeta && this.#depth === ENVELOPE_DEPTH + 1
    const isErrorCode = (kind & IN_ERROR) !== 0 && this.#depth === ENVELOPE_DEPTH + 1 && text === 'code'
    const isChecked = isErrorCode || (isResultMeta && CHECKED_META.has(text))
    if (this.#reservedDepth !== -1 || !(isServerInfo || isChecked || isGatewayKey(text))) return
    this.#reservedDepth = this.#depth
    this.#reservedStart = this.#keyStart
    // At a deeper level it is not the server that describes itself.
    this.#reservedKind = isChecked ? 'checked' : isServerInfo && isResultMeta ? 'server' : 'own'
  }
}

/** Whether the key that begins there may be a known one: the first two letters exclude most keys. */
function mayBeKnownKey(chunk: Uint8Array, at: number): boolean {
  if (at + 1 >= chunk.length) return true
  const first = chunk[at] as number
  const second = chunk[at + 1] as number
  if (second === BACKSLASH || first === BACKSLASH) return true
  if (first === LETTER_S) return second === LETTER_A || second === LETTER_T
  if (first === LETTER_I) return second === LETTER_O
  if (first === LETTER_P) return second === LETTER_R
  return first === UNDERSCORE && second === LETTER_M
}
