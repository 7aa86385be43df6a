import { isJsonObject, type Json, sameJson } from '@sallyport/core'
import { type JsonMember, type JsonSpan, jsonSpans } from './json-spans.ts'

/** Which member of an object is meant, and how it is written where there is none yet. */
export interface JsonStep {
  readonly is: (key: string) => boolean
  readonly key: string
}

/**
 * Sets or removes one member, however deep, and leaves every other byte as it is. The text was proven to be JSON, and
 * everything above the member is an object or not there.
 */
export function editJson(text: string, path: readonly JsonStep[], value: Json | undefined): string {
  let span = jsonSpans(text)
  for (const [depth, step] of path.entries()) {
    const members = span.members ?? []
    const at = members.findIndex(({ key }) => step.is(key))
    const member = members[at]
    if (member === undefined) {
      const rest = path.slice(depth)
      return value === undefined ? text : insert({ text, span, steps: rest }, value)
    }
    if (depth < path.length - 1) span = member.value
    else if (value === undefined) return remove(text, members, at)
    else return replace(text, member, value)
  }
  return text
}

function replace(text: string, { keyStart, value: { start, end } }: JsonMember, value: Json): string {
  if (sameJson(JSON.parse(text.slice(start, end)) as Json, value)) return text
  const printed = printLike(text, { value, indent: indentAt(text, keyStart) })
  return `${text.slice(0, start)}${printed}${text.slice(end)}`
}

/** With the comma and the space that belonged to it. */
function remove(text: string, members: readonly JsonMember[], at: number): string {
  const member = members[at] as JsonMember
  const [before, after] = [members[at - 1], members[at + 1]]
  if (after) return `${text.slice(0, member.keyStart)}${text.slice(after.keyStart)}`
  if (before) return `${text.slice(0, before.value.end)}${text.slice(member.value.end)}`
  const open = text.lastIndexOf('{', member.keyStart)
  const close = text.indexOf('}', member.value.end)
  return `${text.slice(0, open + 1)}${text.slice(close)}`
}

interface Insertion {
  readonly text: string
  readonly span: JsonSpan
  readonly steps: readonly JsonStep[]
}

function insert({ text, span, steps }: Insertion, value: Json): string {
  const [first, ...deeper] = steps as readonly [JsonStep, ...JsonStep[]]
  const nested = deeper.reduceRight<Json>((inner, { key }) => ({ [key]: inner }), value)
  const last = span.members?.at(-1)
  const isInline = last ? !startsLine(text, last.keyStart) : !text.includes('\n')
  const name = `${JSON.stringify(first.key)}: `
  if (isInline) {
    const printed = `${name}${inline(nested)}`
    if (last) return `${text.slice(0, last.value.end)}, ${printed}${text.slice(last.value.end)}`
    return `${text.slice(0, span.start)}{ ${printed} }${text.slice(span.end)}`
  }
  const newline = newlineOf(text)
  const indent = last ? indentAt(text, last.keyStart) : `${indentAt(text, span.start)}${unitOf(text)}`
  const printed = `${newline}${indent}${name}${printLike(text, { value: nested, indent })}`
  if (last) return `${text.slice(0, last.value.end)},${printed}${text.slice(last.value.end)}`
  return `${text.slice(0, span.start)}{${printed}${newline}${indentAt(text, span.start)}}${text.slice(span.end)}`
}

/** Over several lines where the file is; a list stays on one if it fits. */
function printLike(text: string, { value, indent }: { readonly value: Json; readonly indent: string }): string {
  const short = inline(value)
  const fits = Array.isArray(value) && indent.length + short.length <= MAX_WIDTH
  if (fits || !text.includes('\n')) return short
  return JSON.stringify(value, undefined, unitOf(text)).replaceAll('\n', `${newlineOf(text)}${indent}`)
}

const MAX_WIDTH = 100

function inline(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(inline).join(', ')}]`
  if (!isJsonObject(value)) return JSON.stringify(value)
  const members = Object.entries(value).map(([key, member]) => `${JSON.stringify(key)}: ${inline(member ?? null)}`)
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`
}

const startsLine = (text: string, at: number): boolean => /(^|\n)[\t ]*$/.test(text.slice(0, at))

/** The space that the line of this place begins with. */
function indentAt(text: string, at: number): string {
  const line = text.lastIndexOf('\n', at - 1) + 1
  return /^[\t ]*/.exec(text.slice(line, at))?.[0] ?? ''
}

const unitOf = (text: string): string => /\n([\t ]+)/.exec(text)?.[1] ?? '  '
const newlineOf = (text: string): string => (text.includes('\r\n') ? '\r\n' : '\n')
