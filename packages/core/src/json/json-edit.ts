import type { JsonMember, Span } from './envelope.ts'
import type { Json } from './json-value.ts'
import { isListAt, listMembers } from './json-walk.ts'

// Each edit of proven JSON leaves every other character as it is: numbers, order, blanks, line ends.

/** How new values are written. */
export interface JsonStyle {
  /** `indent` is what the line begins with on which the value will stand. */
  readonly print: (value: Json, indent: string) => string
  /** By how much more a line within brackets is indented. */
  readonly unit: string
  /** What is put between the brackets of an object or array that was empty; `indent` is that of the brackets. */
  readonly fill: (source: string, indent: string) => string
}

/** On one line, without blanks. */
const COMPACT: JsonStyle = { print: (value) => JSON.stringify(value), unit: '', fill: (source) => source }

/** As in every parser, of two members with one name the last one counts. */
export function findMember(
  text: string,
  container: number,
  isMeant: (key: string, index: number) => boolean,
): JsonMember | undefined {
  let found: JsonMember | undefined
  let index = 0
  for (const member of listMembers(text, container)) if (isMeant(member.key, index++)) found = member
  return found
}

export const replaceSpan = (text: string, { start, end }: Span, source: string): string =>
  `${text.slice(0, start)}${source}${text.slice(end)}`

/** A member with its key, or an item. */
export interface NewMember {
  readonly key?: string
  readonly value: Json
}

/** Behind the last member of an object or array, with the blanks that are before that one. */
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
  // One member alone does not tell what is between two: then as between its key and its value.
  const isSpaced = before === undefined && !isListAt(text, container) && text[last.value - 1] === ' '
  return { last, gap: gap === '' && isSpaced ? ' ' : gap }
}

/** With the comma and the blanks that belong to it. */
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

/** The blanks that the line of this place begins with. */
export function indentAt(text: string, at: number): string {
  const line = text.lastIndexOf('\n', at - 1) + 1
  return /^[\t ]*/.exec(text.slice(line, at))?.[0] ?? ''
}
