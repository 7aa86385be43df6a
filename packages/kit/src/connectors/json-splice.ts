import {
  addMembers,
  findJsonValue,
  findMember,
  isListAt,
  isObjectAt,
  type Json,
  listMembers,
  readPointer,
  replaceSpan,
  type Span,
} from '@sallyport/core'
import { refusal } from './source.ts'

const MAX_STEPS = 100

/** The steps of a JSON pointer (RFC 6901): `/items/0/name`; the empty one is the whole document. */
export function parsePointer(pointer: string): readonly string[] {
  if (pointer === '') return []
  if (!pointer.startsWith('/') || /~(?![01])/.test(pointer))
    throw refusal(
      `The pointer is ${JSON.stringify(pointer.slice(0, 80))}; expected one such as "/items/0/name", or "".`,
    )
  const steps = readPointer(pointer)
  if (steps.length > MAX_STEPS)
    throw refusal(`The pointer has ${steps.length} steps; at most ${MAX_STEPS} are allowed.`)
  return steps
}

export function findValueSpan(text: string, steps: readonly string[]): Span {
  const found = findJsonValue(text, steps)
  if ('problem' in found) throw refusal(found.problem)
  return found
}

/** Puts a value at a place of proven JSON and leaves every other character as it is: numbers, order, blanks. */
export function setJson(text: string, pointer: string, value: Json): string {
  const steps = parsePointer(pointer)
  assertJsonValue(value)
  const container = findValueSpan(text, steps.slice(0, -1))
  const last = steps.at(-1)
  if (last === undefined) return replaceSpan(text, container, JSON.stringify(value))
  if (isObjectAt(text, container.start) && findMember(text, container.start, (key) => key === last) === undefined)
    return addMembers(text, container, { members: [{ key: last, value }] })
  if (isListAt(text, container.start) && isAppendPosition(text, container, last))
    return addMembers(text, container, { members: [{ value }] })
  return replaceSpan(text, findValueSpan(text, steps), JSON.stringify(value))
}

const isAppendPosition = (text: string, { start }: Span, step: string): boolean =>
  step === '-' || step === String([...listMembers(text, start)].length)

/** Adds items at the end of an array of proven JSON. */
export function appendJson(text: string, pointer: string, values: readonly Json[]): string {
  const place = findValueSpan(text, parsePointer(pointer))
  if (!isListAt(text, place.start)) throw refusal(`There is no array at ${JSON.stringify(pointer)}.`)
  values.forEach(assertJsonValue)
  return values.length === 0 ? text : addMembers(text, place, { members: values.map((value) => ({ value })) })
}

function assertJsonValue(value: Json): void {
  if ((JSON.stringify(value) as string | undefined) === undefined)
    throw refusal(`The value is ${typeof value}; expected one that JSON can hold.`)
}
