import type { JsonMember, Span } from './envelope.ts'
import type { Json } from './json-value.ts'
import { isListAt, listMembers } from './json-walk.ts'

// The text must be valid JSON. Each edit leaves all other characters unchanged: numbers, order, spaces, line ends.

/** How new values are written. */
export interface JsonStyle {
  /** `indent` is the indentation of the line on which the value will be. */
  readonly print: (value: Json, indent: string) => string
  /** The additional indentation inside brackets. */
  readonly unit: string
  /** The text between the brackets of a formerly empty object or array; `indent` is that of the brackets. */
  readonly fill: (source: string, indent: string) => string
}

/** On one line, without spaces. */
const COMPACT: JsonStyle = { print: (value) => JSON.stringify(value), unit: '', fill: (source) => source }

/** The last match: as in every parser, the last of two members with the same key wins. */
export function findMember(
  text: string,
  container: number,
  matches: (key: string, index: number) => boolean,
): JsonMember | undefined {
  let found: JsonMember | undefined
  let index = 0
  for (const member of listMembers(text, container)) if (matches(member.key, index++)) found = member
  return found
}

export const replaceSpan = (text: string, { start, end }: Span, source: string): string =>
  `${text.slice(0, start)}${source}${text.slice(end)}`

/** A member of an object, or an item (without a key) of an array. */
export interface NewMember {
  readonly key?: string
  readonly value: Json
}

/** Adds members after the last one of an object or array, with the same spacing as before that one. */
export function addMembers(
  text: string,
  container: Span,
  { members, style = COMPACT }: { readonly members: readonly NewMember[]; readonly style?: JsonStyle },
): string {
  const { last, gap } = lastMember(text, container.start)
  const around = indentAt(text, container.start)
  const indent = last === undefined ? `${around}${style.unit}` : indentAt(text, last.start)
  const sources = members.map(
    ({ key, value }) => `${key === undefined ? '' : `${JSON.stringify(key)}: `}${style.print(value, indent)}`,
  )
  if (last === undefined) return replaceSpan(text, inside(container), style.fill(sources.join(', '), around))
  return replaceSpan(text, { start: last.end, end: last.end }, sources.map((source) => `,${gap}${source}`).join(''))
}

const inside = ({ start, end }: Span): Span => ({ start: start + 1, end: end - 1 })

function lastMember(text: string, container: number): { readonly last: JsonMember | undefined; readonly gap: string } {
  let [last, before]: (JsonMember | undefined)[] = []
  for (const member of listMembers(text, container)) {
    before = last
    last = member
  }
  if (last === undefined) return { last, gap: '' }
  const gap = text.slice(before?.end ?? container + 1, last.start).replace(',', '')
  // A single member does not show the spacing between two: use that between its key and its value.
  const isSpaced = before === undefined && !isListAt(text, container) && text[last.value - 1] === ' '
  return { last, gap: gap === '' && isSpaced ? ' ' : gap }
}

/** Removes a member with its comma and spacing. */
export function removeMember(text: string, container: Span, { start, end }: JsonMember): string {
  let [before, after]: (JsonMember | undefined)[] = []
  for (const member of listMembers(text, container.start)) {
    if (member.start < start) before = member
    else if (member.start > start) {
      after = member
      break
    }
  }
  if (after !== undefined) return replaceSpan(text, { start, end: after.start }, '')
  if (before !== undefined) return replaceSpan(text, { start: before.end, end }, '')
  return replaceSpan(text, inside(container), '')
}

/** The indentation of the line that contains this position. */
export function indentAt(text: string, at: number): string {
  const line = text.lastIndexOf('\n', at - 1) + 1
  return /^[\t ]*/.exec(text.slice(line, at))?.[0] ?? ''
}
