import type { Json } from '@sallyport/core'
import { findMember, type JsonPlace, membersAt, rootPlace, skipSpace } from './json-place.ts'
import { readPointer } from './json-pointer.ts'
import { refusal } from './source.ts'

/** Puts a value at a place of proven JSON and leaves every other character as it is: numbers, order, blanks. */
export function setJson(text: string, pointer: string, value: Json): string {
  const steps = readPointer(pointer)
  const source = sourceOf(value)
  const last = steps.at(-1)
  if (last === undefined) return replaced(text, rootPlace(text), source)
  const container = findPlace(text, steps.slice(0, -1))
  const member = findMember(text, container.start, last)
  if (member !== undefined) return replaced(text, member, source)
  if (text[container.start] === '{') return added(text, container, [`${JSON.stringify(last)}: ${source}`])
  const length = text[container.start] === '[' ? [...membersAt(text, container.start)].length : -1
  if (length >= 0 && (last === '-' || last === String(length))) return added(text, container, [source])
  throw missing(text, container, last)
}

/** Adds items at the end of an array of proven JSON. */
export function appendJson(text: string, pointer: string, values: readonly Json[]): string {
  const place = findPlace(text, readPointer(pointer))
  if (text[place.start] !== '[') throw refusal(`There is no array at ${JSON.stringify(pointer)}.`)
  const sources = values.map(sourceOf)
  return sources.length === 0 ? text : added(text, place, sources)
}

export function findPlace(text: string, steps: readonly string[]): JsonPlace {
  let place = rootPlace(text)
  for (const step of steps) {
    const member = findMember(text, place.start, step)
    if (member === undefined) throw missing(text, place, step)
    place = member
  }
  return place
}

function sourceOf(value: Json): string {
  const source: string | undefined = JSON.stringify(value)
  if (source === undefined) throw refusal(`The value is ${typeof value}; expected one that JSON can hold.`)
  return source
}

const replaced = (text: string, { start, end }: JsonPlace, source: string): string =>
  text.slice(0, start) + source + text.slice(end)

/** Behind the last member, with the blanks that stand before it. */
function added(text: string, { start, end }: JsonPlace, sources: readonly string[]): string {
  let last: { readonly from: number; readonly end: number } | undefined
  let before = start + 1
  for (const member of membersAt(text, start)) {
    if (last !== undefined) before = last.end
    last = member
  }
  if (last === undefined) return text.slice(0, start + 1) + sources.join(', ') + text.slice(end - 1)
  const gap = text.slice(before, last.from).replace(',', '')
  const blanks = gap === '' && skipSpace(text, start + 1) === start + 1 ? '' : gap
  return text.slice(0, last.end) + sources.map((source) => `,${blanks}${source}`).join('') + text.slice(last.end)
}

function missing(text: string, { start }: JsonPlace, step: string): Error {
  const shown = JSON.stringify(step.slice(0, 80))
  if (text[start] === '[')
    return refusal(`There is no item ${shown}: the array has ${[...membersAt(text, start)].length}.`)
  if (text[start] !== '{')
    return refusal(`The pointer goes on with ${shown} where there is neither an object nor an array.`)
  const keys = Array.from(membersAt(text, start), ({ key }) => key ?? '').slice(0, 20)
  return refusal(
    `There is no key ${shown}. There are: ${keys.map((key) => JSON.stringify(key.slice(0, 80))).join(', ')}.`,
  )
}
