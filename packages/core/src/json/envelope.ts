import type { ItemProblem } from './item-checker.ts'
import type { Json, JsonObject } from './json-value.ts'

export interface Span {
  readonly start: number
  readonly end: number
}

/** Where one member of an object stands. */
export interface JsonMember {
  /** Its name, if that is ASCII and short: of others it may be the bytes, or only the beginning. */
  readonly key: string
  /** Where its key begins, and where its value begins and ends. */
  readonly start: number
  readonly value: number
  readonly end: number
}

/** Where the parts of a JSON-RPC message stand in its text, and the little of them that is needed at once. */
export interface Envelope {
  readonly bytes: number
  /** Where the value of the top-level `id` stands. */
  readonly id: Span | undefined
  /** The id itself, when it is a number: ours always are. */
  readonly numericId: number | undefined
  /** The id itself, when it is a plain ASCII text of at most 300 characters. */
  readonly stringId: string | undefined
  readonly result: Span | undefined
  readonly error: Span | undefined
  readonly hasMethod: boolean
  /** `result.isError` is true. */
  readonly isError: boolean
  /** `result.resultType`, when it is a short text. */
  readonly resultType: string | undefined
  /** The members of a result that is an object, in order; left out where nobody looked, or where there are many. */
  readonly resultMembers?: readonly JsonMember[] | undefined
  /** What the result has of the members that the protocol knows, and which of them are invalid: bits of RESULT_SHAPE. */
  readonly shape: number
  /** Members of `_meta`, or of an error, that only the gateway may send: without the comma before or after them. */
  readonly reservedMembers?: readonly Span[] | undefined
  /** Members of the result that the protocol knows and that are null, which it does not allow. */
  readonly nullMembers?: readonly JsonMember[] | undefined
  /** Items of the result that the protocol does not allow, or that have to be looked into, in their order. */
  readonly itemProblems?: readonly ItemProblem[] | undefined
  /** `jsonrpc` is "2.0". */
  readonly isVersion2: boolean
  /** The member of the result's `_meta` in which a server names itself. */
  readonly serverInfo?: Span | undefined
  /** How deep the message is nested; 0 where it is too short to be deep. */
  readonly depth: number
  /** Line breaks between tokens: they must be blanked before the bytes go onto a line-framed stream. */
  readonly hasLineBreaks: boolean
}

/** What going through a message byte by byte tells besides. */
export interface ScannedEnvelope extends Envelope {
  /** How many `key: value` members there are in all; more than the parsed value has means duplicate keys. */
  readonly members: number
  /** A number that a reader in double precision would change: its re-serialisation would be another one. */
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

/** Of the texts of an envelope that are worth keeping. */
const CAPTURE_LIMITS: Readonly<Record<string, number>> = Object.assign(Object.create(null), {
  id: MAX_ID_LENGTH,
  jsonrpc: VERSION.length + 1,
})

/** Takes down what concerns the envelope while a scanner goes through a message. Depth 1 is inside the outermost object. */
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

  /** How much of the text that begins here is worth keeping. */
  captureLimit(depth: number, isKey: boolean): number {
    if (depth === 1) return isKey ? MAX_KEY_LENGTH : (CAPTURE_LIMITS[this.#topKey] ?? 0)
    if (depth !== 2) return 0
    if (this.#topKey !== 'result') return isKey && this.#topKey === 'error' ? MAX_KEY_LENGTH : 0
    return isKey || this.#resultKey === 'resultType' ? MAX_KEY_LENGTH : 0
  }

  /** False when this member of the envelope was there before. */
  key(depth: number, text: string): boolean {
    if (depth === 2) this.#resultKey = text
    if (depth !== 1) return true
    this.#topKey = text
    const bit = ENVELOPE_KEYS[text] ?? 0
    const first = (this.#seen & bit) === 0
    this.#seen |= bit
    return first
  }

  beginKey(depth: number, place: number): void {
    if (depth === 2) this.#memberStart = place
  }

  /** `byte` is what the value begins with. */
  beginValue(depth: number, place: number, byte: number): void {
    if (depth === 1) this.#start = place
    else if (depth === 2) {
      this.#memberValue = place
      this.#isNull = byte === LETTER_N && this.#topKey === 'result' && forbidsNull(this.#resultKey)
      if (this.#topKey === 'result') this.#shape |= memberShape(this.#resultKey, byte)
    }
  }

  /** The member of the result whose items the list that begins here holds. */
  itemList(depth: number): string | undefined {
    return depth === 2 && this.#topKey === 'result' && isItemList(this.#resultKey) ? this.#resultKey : undefined
  }

  /** There is more wrong with it than anybody writes by mistake. */
  invalidate(): void {
    this.#shape |= TOO_MANY_PROBLEMS
  }

  /** Whether what begins inside the outermost object is the error. */
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

  endValue(place: number): void {
    const span = { start: this.#start, end: place }
    if (this.#topKey === 'id') this.#spans.id = span
    else if (this.#topKey === 'result') this.#spans.result = span
    else if (this.#topKey === 'error') this.#spans.error = span
  }

  /** Of an object that is a member of the outermost one. */
  endMember(place: number): void {
    if (this.#topKey !== 'result' || (this.#resultMembers === undefined && !this.#isNull)) return
    const member = { key: this.#resultKey, start: this.#memberStart, value: this.#memberValue, end: place }
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

  /** `true` and `false` come here too and are no numbers; fractions lose digits in every reader alike. */
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

// What a result has, and what is wrong with it, as bits: every answer is checked, and most have two or three members.
const CONTENT = 1
const CONTENTS = 2
const MESSAGES = 4
const COMPLETION = 8
const INPUT_REQUESTS = 16
const REQUEST_STATE = 32
const TASK = 64
const TASK_ID = 128
/** `structuredContent` that is not an object, which only the modern era has. */
const NON_OBJECT_VALUE = 256
/** A member of the protocol whose value has the wrong type: which one is said by the bit this is shifted by. */
const INVALID = 65_536

/** So much is wrong that not all of it was noted. */
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

/** What the protocol says of the members of results. Others are unknown fields, which pass. */
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

/** What a member adds to the shape, by the byte that its value begins with. */
const memberShape = (key: string, firstByte: number): number =>
  shapeBits(key, FIRST_BYTE[String.fromCharCode(firstByte)] ?? 'number')

/** Writers of several languages print what is missing as null, which no client has to take. */
export const forbidsNull = (key: string): boolean => MEMBERS.has(key) || key === 'structuredContent'

const isItemList = (key: string): boolean => ITEM_LISTS.has(key)

/** The same of a result that was parsed. */
export function describeResult(result: JsonObject): number {
  let shape = 0
  for (const key in result) shape |= shapeBits(key, typeOf(result[key]))
  return shape
}

/** A member of the protocol whose value it does not allow; undefined where all are valid. */
export function findInvalidMember(shape: number): string | undefined {
  if (shape < INVALID) return undefined
  for (const [key, { bit }] of MEMBERS) if ((shape & (bit * INVALID)) !== 0) return key
  return undefined
}

function shapeBits(key: string, type: ValueType): number {
  // It is taken out before a client sees it.
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
