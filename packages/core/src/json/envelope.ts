import type { ItemProblem } from './item-checker.ts'
import type { Json, JsonObject } from './json-value.ts'

export interface Span {
  readonly start: number
  readonly end: number
}

/** The position of one member of an object. */
export interface JsonMember {
  /** Exact only if it is short ASCII. Otherwise it may be the raw bytes, or only the beginning. */
  readonly key: string
  /** Where the key begins. `value` and `end` are where the value begins and ends. */
  readonly start: number
  readonly value: number
  readonly end: number
}

/** The positions of the parts of a JSON-RPC message, and the few values that are needed at once. */
export interface Envelope {
  readonly bytes: number
  /** The value of the top-level `id`. */
  readonly id: Span | undefined
  /** The id itself, if it is a number. The ids that we send always are. */
  readonly numericId: number | undefined
  /** The id itself, if it is an ASCII string of at most 300 characters. */
  readonly stringId: string | undefined
  readonly result: Span | undefined
  readonly error: Span | undefined
  readonly hasMethod: boolean
  /** `result.isError` is true. */
  readonly isError: boolean
  /** `result.resultType`, if it is a short string. */
  readonly resultType: string | undefined
  /** The members of the result, in order. Missing if they were not read, or if there are too many. */
  readonly resultMembers?: readonly JsonMember[] | undefined
  /** Which members of the protocol the result has, and which are invalid: bits of RESULT_SHAPE. */
  readonly shape: number
  /** Members of `_meta`, or of an error, that only the gateway may send. The spans exclude commas. */
  readonly reservedMembers?: readonly Span[] | undefined
  /** Members of the result that are null although the protocol does not allow it. */
  readonly nullMembers?: readonly JsonMember[] | undefined
  /** Items of the result that the protocol does not allow, or that need a further check, in order. */
  readonly itemProblems?: readonly ItemProblem[] | undefined
  /** `jsonrpc` is "2.0". */
  readonly isVersion2: boolean
  /** The member of the result's `_meta` in which a server names itself. */
  readonly serverInfo?: Span | undefined
  /**
   * The beginning of the result, if these members and no others are to be removed or changed for a legacy client.
   * Found only in short answers of the usual form.
   */
  readonly modernHead?: Span | undefined
  /** How deep the message is nested; 0 if it is too short to be deep. */
  readonly depth: number
  /** There are line breaks between tokens. They must become spaces before the bytes go onto a line-framed stream. */
  readonly hasLineBreaks: boolean
}

/** What the byte-by-byte scan finds in addition. */
export interface ScannedEnvelope extends Envelope {
  /** The number of members at all depths. If the parsed value has fewer, there are duplicate keys. */
  readonly members: number
  /** There is a number that would change if it were parsed as a double and printed again. */
  readonly hasUnsafeNumber: boolean
}

type ScanSummary = Pick<
  ScannedEnvelope,
  'bytes' | 'hasLineBreaks' | 'members' | 'depth' | 'reservedMembers' | 'serverInfo' | 'itemProblems'
>

const MAX_KEY_LENGTH = 32
const MAX_MEMBERS = 32
const MAX_ID_LENGTH = 300
const VERSION = '2.0'

const LETTER_N = 0x6e
const METHOD = 1
const ENVELOPE_KEYS: Readonly<Record<string, number>> = Object.assign(Object.create(null), {
  method: METHOD,
  id: 2,
  result: 4,
  error: 8,
  params: 16,
  jsonrpc: 32,
})

/** How many characters of these top-level strings are captured. */
const CAPTURE_LIMITS: Readonly<Record<string, number>> = Object.assign(Object.create(null), {
  id: MAX_ID_LENGTH,
  jsonrpc: VERSION.length + 1,
})

/** Builds the envelope while a scanner reads a message. Depth 1 is inside the outermost object. */
export class EnvelopeBuilder {
  #topKey = ''
  #resultKey = ''
  #seen = 0
  #start = 0
  #memberStart = 0
  #memberValue = 0
  #resultMembers: JsonMember[] | undefined = []
  #nullMembers: JsonMember[] | undefined
  #isNull = false
  #isVersion2 = false
  readonly #spans: { id?: Span; result?: Span; error?: Span } = {}
  #numericId: number | undefined
  #stringId: string | undefined
  #isError = false
  #resultType: string | undefined
  #unsafeNumber = false
  #shape = 0

  /** How many characters of the string that begins here have to be captured. */
  captureLimit(depth: number, isKey: boolean): number {
    if (depth === 1) return isKey ? MAX_KEY_LENGTH : (CAPTURE_LIMITS[this.#topKey] ?? 0)
    if (depth !== 2) return 0
    if (this.#topKey !== 'result') return isKey && this.#topKey === 'error' ? MAX_KEY_LENGTH : 0
    return isKey || this.#resultKey === 'resultType' ? MAX_KEY_LENGTH : 0
  }

  /** False if the envelope already had this member. */
  key(depth: number, text: string): boolean {
    if (depth === 2) this.#resultKey = text
    if (depth !== 1) return true
    this.#topKey = text
    const bit = ENVELOPE_KEYS[text] ?? 0
    const first = (this.#seen & bit) === 0
    this.#seen |= bit
    return first
  }

  beginKey(depth: number, position: number): void {
    if (depth === 2) this.#memberStart = position
  }

  /** `byte` is the first byte of the value. */
  beginValue(depth: number, position: number, byte: number): void {
    if (depth === 1) this.#start = position
    else if (depth === 2) {
      this.#memberValue = position
      this.#isNull = byte === LETTER_N && this.#topKey === 'result' && forbidsNull(this.#resultKey)
      if (this.#topKey === 'result') this.#shape |= memberShape(this.#resultKey, byte)
    }
  }

  /** The name of the member whose items are checked, if the list that begins here is one of those. */
  itemList(depth: number): string | undefined {
    return depth === 2 && this.#topKey === 'result' && isItemList(this.#resultKey) ? this.#resultKey : undefined
  }

  /** Call if there are more problems than a mistake explains. */
  invalidate(): void {
    this.#shape |= TOO_MANY_PROBLEMS
  }

  /** Whether the current top-level member is `error`. */
  get isError(): boolean {
    return this.#topKey === 'error'
  }

  beginNested(depth: number): void {
    if (depth === 2) this.#resultKey = ''
  }

  scalar(depth: number, text: string): void {
    if (text.length > 15 || text.includes('e') || text.includes('E')) this.#checkNumber(text)
    if (depth === 1 && this.#topKey === 'id' && /^-?\d/.test(text)) this.#numericId = Number(text)
    if (depth === 2 && this.#topKey === 'result' && this.#resultKey === 'isError') this.#isError = text === 'true'
  }

  text(depth: number, text: string): void {
    if (depth === 1 && this.#topKey === 'jsonrpc') this.#isVersion2 = text === VERSION
    if (depth === 1 && this.#topKey === 'id' && text.length <= MAX_ID_LENGTH && isAscii(text)) this.#stringId = text
    if (depth === 2 && this.#topKey === 'result' && this.#resultKey === 'resultType') this.#resultType = text
  }

  endValue(position: number): void {
    const span = { start: this.#start, end: position }
    if (this.#topKey === 'id') this.#spans.id = span
    else if (this.#topKey === 'result') this.#spans.result = span
    else if (this.#topKey === 'error') this.#spans.error = span
  }

  /** Call at the end of a member at depth 2. */
  endMember(position: number): void {
    if (this.#topKey !== 'result' || (this.#resultMembers === undefined && !this.#isNull)) return
    const member = { key: this.#resultKey, start: this.#memberStart, value: this.#memberValue, end: position }
    if (this.#isNull) this.#addNullMember(member)
    if (this.#resultMembers?.length === MAX_MEMBERS) this.#resultMembers = undefined
    else this.#resultMembers?.push(member)
  }

  #addNullMember(member: JsonMember): void {
    this.#nullMembers ??= []
    if (this.#nullMembers.length < MAX_MEMBERS) this.#nullMembers.push(member)
    else this.invalidate()
  }

  build({
    bytes,
    hasLineBreaks,
    members,
    depth,
    reservedMembers,
    serverInfo,
    itemProblems,
  }: ScanSummary): ScannedEnvelope {
    // Written out: spreading an object here costs as much as scanning a small message.
    return {
      bytes,
      hasLineBreaks,
      members,
      id: this.#spans.id,
      numericId: this.#numericId,
      stringId: this.#stringId,
      result: this.#spans.result,
      error: this.#spans.error,
      hasMethod: (this.#seen & METHOD) !== 0,
      isError: this.#isError,
      resultType: this.#resultType,
      resultMembers: this.#resultMembers,
      shape: this.#shape,
      depth,
      reservedMembers,
      nullMembers: this.#nullMembers,
      itemProblems,
      isVersion2: this.#isVersion2,
      serverInfo,
      hasUnsafeNumber: this.#unsafeNumber,
    }
  }

  /**
   * `true` and `false` come here too: they are NaN. Fractions are not reported, since every parser rounds them alike.
   */
  #checkNumber(text: string): void {
    const value = Number(text)
    if (Number.isNaN(value)) return
    const whole = /^-?\d+$/.test(text)
    if (!Number.isFinite(value) || (whole && !Number.isSafeInteger(value))) this.#unsafeNumber = true
  }
}

function isAscii(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 0x7e) return false
  return true
}

// The members of a result and their problems, as bits: this check runs for every answer, so it must be cheap.
const CONTENT = 1
const CONTENTS = 2
const MESSAGES = 4
const COMPLETION = 8
const INPUT_REQUESTS = 16
const REQUEST_STATE = 32
const TASK = 64
const TASK_ID = 128
/** `structuredContent` is not an object, which only the modern era allows. */
const NON_OBJECT_VALUE = 256
/** Multiplied by the bit of a member: the value of this member has the wrong type. */
const INVALID = 65_536

/** There were too many problems to record all of them. */
const TOO_MANY_PROBLEMS: number = 32_768

/** The bits of `Envelope.shape`. */
export const RESULT_SHAPE = {
  content: CONTENT,
  contents: CONTENTS,
  messages: MESSAGES,
  completion: COMPLETION,
  inputRequests: INPUT_REQUESTS,
  requestState: REQUEST_STATE,
  task: TASK,
  taskId: TASK_ID,
  bareValue: NON_OBJECT_VALUE,
  overfull: TOO_MANY_PROBLEMS,
} as const

type ValueType = 'list' | 'object' | 'string' | 'boolean' | 'null' | 'number'

interface Member {
  readonly bit: number
  readonly type: ValueType
}

/** The members of results that the protocol defines. Others are unknown fields and pass. */
const MEMBERS: ReadonlyMap<string, Member> = new Map([
  ['content', { bit: CONTENT, type: 'list' }],
  ['contents', { bit: CONTENTS, type: 'list' }],
  ['messages', { bit: MESSAGES, type: 'list' }],
  ['completion', { bit: COMPLETION, type: 'object' }],
  ['inputRequests', { bit: INPUT_REQUESTS, type: 'object' }],
  ['requestState', { bit: REQUEST_STATE, type: 'string' }],
  ['task', { bit: TASK, type: 'object' }],
  ['taskId', { bit: TASK_ID, type: 'string' }],
  ['isError', { bit: 1_024, type: 'boolean' }],
  ['resultType', { bit: 2_048, type: 'string' }],
  ['_meta', { bit: 4_096, type: 'object' }],
])

/** Lists whose items are checked. */
const ITEM_LISTS: ReadonlySet<string> = new Set(['content', 'contents', 'messages'])

const FIRST_BYTE: Readonly<Record<string, ValueType>> = {
  '[': 'list',
  '{': 'object',
  '"': 'string',
  t: 'boolean',
  f: 'boolean',
  n: 'null',
}

/** The bits that a member adds to the shape, by the first byte of its value. */
const memberShape = (key: string, firstByte: number): number =>
  shapeBits(key, FIRST_BYTE[String.fromCharCode(firstByte)] ?? 'number')

/** Serializers of several languages print a missing value as null, which clients may reject. */
export const forbidsNull = (key: string): boolean => MEMBERS.has(key) || key === 'structuredContent'

const isItemList = (key: string): boolean => ITEM_LISTS.has(key)

/** The shape bits of a parsed result. */
export function describeResult(result: JsonObject): number {
  let shape = 0
  for (const key in result) shape |= shapeBits(key, typeOf(result[key]))
  return shape
}

/** The first member with an invalid value; `undefined` if all are valid. */
export function findInvalidMember(shape: number): string | undefined {
  if (shape < INVALID) return undefined
  for (const [key, { bit }] of MEMBERS) if ((shape & (bit * INVALID)) !== 0) return key
  return undefined
}

function shapeBits(key: string, type: ValueType): number {
  // A null member is removed before a client sees it.
  if (type === 'null') return 0
  const member = MEMBERS.get(key)
  if (member === undefined) return key === 'structuredContent' && type !== 'object' ? NON_OBJECT_VALUE : 0
  return type === member.type ? member.bit : member.bit * INVALID
}

function typeOf(value: Json | undefined): ValueType {
  if (value === null || value === undefined) return 'null'
  if (Array.isArray(value)) return 'list'
  const type = typeof value
  return type === 'object' || type === 'string' || type === 'boolean' ? type : 'number'
}
