import type { Json, JsonObject } from './json-value.ts'
import { listNumbers } from './json-walk.ts'
import { sameJson } from './same-json.ts'

/** The text of numbers that would be printed differently, by the object or array that contains them. */
const numberTexts = new WeakMap<object, ReadonlyMap<string, string>>()
/** Until the first such number, nothing has to be looked up. */
let hasNumberTexts = false

/** A point, an exponent, sixteen digits or a negative zero: without any of these, every number is printed as it was. */
const MAY_CHANGE = /\d[.eE]|\d{16}|-0/

/**
 * Parses valid JSON, and remembers the text of numbers that change if they are printed again: `1.0`, which several
 * languages distinguish from `1`, `9007199254740993`, `1e400`. `printExactJson` prints them as they were.
 */
export function parseExactJson(text: string): Json {
  const value = JSON.parse(text) as Json
  const quoted = MAY_CHANGE.test(text) ? quoteChangingNumbers(text) : undefined
  if (quoted !== undefined) rememberTexts(value, JSON.parse(quoted) as Json)
  return value
}

/** The same JSON with such numbers as strings; `undefined` if there are none. */
function quoteChangingNumbers(text: string): string | undefined {
  let out = ''
  let from = 0
  for (const { start, end } of listNumbers(text)) {
    const token = text.slice(start, end)
    if (JSON.stringify(Number(token)) === token) continue
    out += `${text.slice(from, start)}"${token}"`
    from = end
  }
  return from === 0 ? undefined : out + text.slice(from)
}

/** Both have the same structure: where one has a number and the other a string, the string is the text of the number. */
function rememberTexts(value: Json | undefined, quoted: Json | undefined): void {
  if (!isContainer(value) || !isContainer(quoted)) return
  const texts = new Map<string, string>()
  for (const key of Object.keys(value)) {
    const [member, text] = [value[key], quoted[key]]
    if (typeof member === 'number' && typeof text === 'string') texts.set(key, text)
    else rememberTexts(member, text)
  }
  if (texts.size === 0) return
  numberTexts.set(value, texts)
  hasNumberTexts = true
}

const isContainer = (value: Json | undefined): value is JsonObject => typeof value === 'object' && value !== null

/**
 * JSON with the remembered texts of numbers. `original` is the object of which `value` is a copy, if it is one: the
 * texts of its own members belong to the original.
 */
export function printExactJson(value: Json, original?: JsonObject): string {
  if (!hasNumberTexts) return JSON.stringify(value)
  const inherited = original && numberTexts.get(original)
  return inherited || hasTextWithin(value) ? printValue(value, inherited) : JSON.stringify(value)
}

function hasTextWithin(value: Json | undefined): boolean {
  if (!isContainer(value)) return false
  return numberTexts.has(value) || Object.values(value).some(hasTextWithin)
}

function printValue(value: Json, inherited?: ReadonlyMap<string, string>): string {
  if (!isContainer(value)) return JSON.stringify(value)
  const texts = numberTexts.get(value) ?? inherited
  const printMember = (key: string, member: Json): string => {
    const text = typeof member === 'number' ? texts?.get(key) : undefined
    return text !== undefined && Object.is(Number(text), member) ? text : printValue(member)
  }
  if (Array.isArray(value)) return `[${value.map((item: Json, at) => printMember(String(at), item)).join(',')}]`
  const members = Object.entries(value).filter((entry): entry is [string, Json] => entry[1] !== undefined)
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${printMember(key, member)}`).join(',')}}`
}

/** Whether two values are equal, and their numbers are also written in the same way. */
export function sameExactJson(one: Json | undefined, other: Json | undefined): boolean {
  return sameJson(one, other) && (!hasNumberTexts || sameTexts(one, other))
}

function sameTexts(one: Json | undefined, other: Json | undefined): boolean {
  if (one === other || !isContainer(one) || !isContainer(other)) return true
  const [texts, otherTexts] = [numberTexts.get(one), numberTexts.get(other)]
  if (texts?.size !== otherTexts?.size) return false
  for (const [key, text] of texts ?? []) if (otherTexts?.get(key) !== text) return false
  return Object.keys(one).every((key) => sameTexts(one[key], other[key]))
}
