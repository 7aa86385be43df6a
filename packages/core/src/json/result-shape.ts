import type { Json, JsonObject } from './json-value.ts'

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
export const TOO_MANY_PROBLEMS: number = 32_768

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
export const memberShape = (key: string, firstByte: number): number =>
  shapeBits(key, FIRST_BYTE[String.fromCharCode(firstByte)] ?? 'number')

/** Writers of several languages print what is missing as null, which no client has to take. */
export const forbidsNull = (key: string): boolean => MEMBERS.has(key) || key === 'structuredContent'

export const isItemList = (key: string): boolean => ITEM_LISTS.has(key)

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
