import { isListAt, isObjectAt, isStringAt, MemberCursor, skipSpace, stringEnd, valueEnd } from '../json/json.ts'
import { divide, type FillSource } from './fill-budget.ts'
import type { Ends, Preset } from './preset.ts'
import { type Omission, type Preview, SCALES, scaleEnds, scaleLength } from './preview.ts'
import { cutAfter, cutBefore, omissionMark } from './safe-cut.ts'

const MAX_DEPTH = 8
/** No double needs more digits; a longer number is not used for calculation. */
const MAX_NUMBER_LENGTH = 40

interface OuterDetail {
  readonly items: Ends
  readonly keys: number
  /** How many levels are left. */
  readonly levels: number
}

/** How much of a value is shown. */
export interface Detail {
  /** For the outermost levels, where more may be shown than in nested values. */
  readonly outer?: OuterDetail | undefined
  readonly items: Ends
  readonly keys: number
  readonly depth: number
  /** The maximum length of a string. */
  readonly length: number
}

/** If everything else is small, longer strings are tried first, before parts are left out. */
const ATTEMPTS: readonly { readonly scale: number; readonly length: number }[] = [
  { scale: 1, length: 1_600 },
  { scale: 1, length: 800 },
  ...SCALES.map((scale) => ({ scale, length: scaleLength(scale) })),
]

export function jsonDetail({ items, keys }: Preset, scale: number, length = scaleLength(scale)): Detail {
  return {
    items: scaleEnds(items, scale),
    keys: Math.max(1, Math.ceil(keys * scale)),
    depth: Math.min(MAX_DEPTH, Math.max(1, Math.ceil(MAX_DEPTH * scale))),
    length,
  }
}

/** How much of nested values a filled preview shows, compared with the preset. */
export const INNER_SCALES: readonly number[] = [4, 1, 0.5, 0.25, 0.1, 0.03]
const OUTER_LEVELS = 2

/** A JSON value, for a preview that fills its threshold. */
export function openJson(text: string, preset: Preset, { maxParts }: { readonly maxParts: number }): FillSource {
  const ends = divide(maxParts, preset.items)
  const writer = new JsonPreviewWriter(text, { ...preset, items: ends, keys: maxParts })
  const root = skipSpace(text, 0)
  return {
    maxParts,
    innerScales: INNER_SCALES,
    canGrowInner: true,
    render: ({ ends: items, length, inner }) => {
      const nested = jsonDetail(preset, inner, length)
      const keys = Math.max(items.head + items.tail, nested.keys)
      const detail = { ...nested, outer: { items, keys, levels: OUTER_LEVELS } }
      const written = writer.write(root, detail)
      return written && { ...written, omission: writer.omissionAt(root, detail) }
    },
  }
}

/** Smaller and smaller previews of a JSON value, each of them valid JSON. */
export function* jsonPreviews(text: string, preset: Preset): Generator<Preview | undefined> {
  const writer = new JsonPreviewWriter(text, preset)
  const root = skipSpace(text, 0)
  for (const { scale, length } of ATTEMPTS) {
    const detail = jsonDetail(preset, scale, length)
    const written = writer.write(root, detail)
    yield written && { ...written, omission: writer.omissionAt(root, detail) }
  }
  yield { text: JSON.stringify(writer.summary(root)), omission: writer.omissionAt(root, undefined), hasCuts: true }
}

/** Writes values of valid JSON and leaves out the middle of long parts. Parses nothing, so numbers stay unchanged. */
export class JsonPreviewWriter {
  readonly #text: string
  readonly #outlines: JsonOutlines
  readonly #strings = new Map<number, MeasuredString>()
  readonly #maxLength: number
  #pieces: string[] = []
  #length = 0
  #hasCuts = false
  #root = 0

  constructor(text: string, { items, keys, threshold }: Preset) {
    this.#text = text
    this.#outlines = new JsonOutlines(text, { head: Math.max(items.head, keys, 1), tail: items.tail })
    this.#maxLength = threshold
  }

  /** `undefined` if it would be longer than a preview may be. */
  write(at: number, detail: Detail): Pick<Preview, 'text' | 'hasCuts'> | undefined {
    this.#pieces = []
    this.#length = 0
    this.#hasCuts = false
    this.#root = at
    this.#value(at, detail)
    return this.#isFull() ? undefined : { text: this.#pieces.join(''), hasCuts: this.#hasCuts }
  }

  /** How many direct parts of the value `write` leaves out; all of them without a detail. */
  omissionAt(at: number, detail: Detail | undefined): Omission {
    if (isStringAt(this.#text, at)) return this.#textOmission(at, detail)
    const isObject = isObjectAt(this.#text, at)
    if (!isObject && !isListAt(this.#text, at)) return { noun: 'character', count: 0, of: this.#text.length }
    const { count } = this.#outlines.at(at)
    const { keys, items } = detail?.outer ?? detail ?? NOTHING
    const shown = isObject ? keys : items.head + items.tail
    return { noun: isObject ? 'key' : 'item', count: Math.max(0, count - shown), of: count }
  }

  /** The text that replaces a value that is left out. */
  summary(at: number): string {
    if (isStringAt(this.#text, at)) return omissionMark(this.#measured(at).length, 'character')
    const isObject = isObjectAt(this.#text, at)
    if (!isObject && !isListAt(this.#text, at))
      return `… a number of ${omissionMark(valueEnd(this.#text, at) - at, 'digit').slice(2)}`
    const { count } = this.#outlines.at(at)
    return isObject ? omissionMark(count, 'key') : omissionMark(count, 'item')
  }

  #textOmission(at: number, detail: Detail | undefined): Omission {
    const of = this.#measured(at).length
    return { noun: 'character', count: detail === undefined ? of : Math.max(0, of - detail.length), of }
  }

  #isFull(): boolean {
    return this.#length > this.#maxLength
  }

  #put(piece: string): void {
    this.#pieces.push(piece)
    this.#length += piece.length
  }

  #cut(mark: string): void {
    this.#hasCuts = true
    this.#put(JSON.stringify(mark))
  }

  #value(at: number, detail: Detail): void {
    if (this.#isFull()) return
    if (isStringAt(this.#text, at)) this.#quoted(at, { maxLength: detail.length, note: '' })
    else if (isObjectAt(this.#text, at)) this.#container(at, detail)
    else if (isListAt(this.#text, at)) this.#container(at, detail)
    else this.#plain(at, detail)
  }

  #plain(at: number, { length }: Detail): void {
    const end = valueEnd(this.#text, at)
    if (end - at > Math.max(length, MAX_NUMBER_LENGTH)) this.#cut(this.summary(at))
    else this.#put(this.#text.slice(at, end))
  }

  #container(at: number, detail: Detail): void {
    const isObject = isObjectAt(this.#text, at)
    const { count, head, tail } = this.#outlines.at(at)
    if (detail.depth === 0 && count > 0) return this.#cut(this.summary(at))
    const { outer } = detail
    const { keys, items } = outer ?? detail
    const ends = isObject ? { head: keys, tail: 0 } : items
    const inner = { ...detail, depth: detail.depth - 1, outer: nextLevel(outer) }
    const first = head.slice(0, ends.head)
    const rest = [...head, ...tail].slice(Math.max(first.length, head.length + tail.length - ends.tail))
    const omitted = count - first.length - rest.length
    const mark = omissionMark(omitted, isObject ? 'key' : 'item')
    this.#put(isObject ? '{' : '[')
    this.#members(first, inner)
    if (omitted > 0) {
      // The notice counts what is missing at the root, but not what is missing in nested values.
      if (at !== this.#root) this.#hasCuts = true
      if (first.length > 0) this.#put(',')
      this.#put(isObject ? `"…":${JSON.stringify(mark)}` : JSON.stringify(mark))
      if (rest.length > 0) this.#put(',')
    } else if (first.length > 0 && rest.length > 0) this.#put(',')
    this.#members(rest, inner)
    this.#put(isObject ? '}' : ']')
  }

  #members(members: readonly OutlineMember[], detail: Detail): void {
    for (const [position, { index, key, start }] of members.entries()) {
      if (this.#isFull()) return
      if (position > 0) this.#put(',')
      if (key >= 0) this.#key(key, index, detail.length)
      this.#value(start, detail)
    }
  }

  /** Two long keys may begin and end alike. If a key is shortened, its number makes it unique. */
  #key(at: number, index: number, maxLength: number): void {
    this.#quoted(at, { maxLength, note: ` (key ${index + 1})` })
    this.#put(':')
  }

  #quoted(at: number, cut: { readonly maxLength: number; readonly note: string }): void {
    const measured = this.#measured(at)
    if (measured.length > cut.maxLength) this.#hasCuts = true
    this.#put(cutJsonString(this.#text, measured, cut))
  }

  #measured(at: number): MeasuredString {
    const known = this.#strings.get(at)
    if (known !== undefined) return known
    const measured = measureJsonString(this.#text, at)
    this.#strings.set(at, measured)
    return measured
  }
}

const NOTHING = { keys: 0, items: { head: 0, tail: 0 } } as const

const nextLevel = (outer: OuterDetail | undefined): OuterDetail | undefined =>
  outer === undefined || outer.levels === 1 ? undefined : { ...outer, levels: outer.levels - 1 }

/** The position of one member of an object or item of an array. */
interface OutlineMember {
  readonly index: number
  /** Position of the key's opening quote; -1 in an array. */
  readonly key: number
  readonly start: number
}

/** The first and last members of an object or array. */
interface JsonOutline {
  readonly count: number
  readonly head: readonly OutlineMember[]
  /** The last members, without those of the head. */
  readonly tail: readonly OutlineMember[]
}

/**
 * The outlines of one text that is known to be valid JSON. Each is built on first use and cached, so that several
 * attempts at a preview read each part of the text only once.
 */
class JsonOutlines {
  readonly #text: string
  readonly #ends: Ends
  readonly #outlines = new Map<number, JsonOutline>()

  constructor(text: string, ends: Ends) {
    this.#text = text
    this.#ends = ends
  }

  at(container: number): JsonOutline {
    const known = this.#outlines.get(container)
    if (known !== undefined) return known
    const outline = this.#build(container)
    this.#outlines.set(container, outline)
    return outline
  }

  #build(container: number): JsonOutline {
    const { head: heads, tail: tails } = this.#ends
    const head: OutlineMember[] = []
    const starts: number[] = []
    const keys: number[] = []
    let count = 0
    for (const members = new MemberCursor(this.#text, container); members.next(); ) {
      const { key, start } = members
      const index = count++
      if (index < heads) head.push({ index, key, start })
      else if (tails > 0) {
        starts[index % tails] = start
        keys[index % tails] = key
      }
    }
    const first = Math.max(heads, count - tails)
    const tail = Array.from({ length: Math.max(0, count - first) }, (_, position) => {
      const index = first + position
      return { index, key: keys[index % tails] ?? -1, start: starts[index % tails] ?? 0 }
    })
    return { count, head, tail }
  }
}

const BACKSLASH = 0x5c
const LETTER_U = 0x75
/** Longer than the end that any cut preserves: a safe cut also depends on the characters around it. */
const TAIL_LENGTH = 600
const LOOKAHEAD_LENGTH = 64

/** A string in valid JSON. Lengths are those of the decoded string. */
interface MeasuredString {
  readonly quote: number
  readonly end: number
  readonly length: number
  /** The start of its last characters. It is found from the beginning, since backslashes cannot be read backwards. */
  readonly lastPart: number
}

function measureJsonString(text: string, quote: number): MeasuredString {
  const end = stringEnd(text, quote)
  let length = 0
  for (let at = quote + 1; at < end - 1; at += characterLength(text, at)) length++
  let lastPart = quote + 1
  for (let left = length; left > TAIL_LENGTH; left--) lastPart += characterLength(text, lastPart)
  return { quote, end, length, lastPart }
}

function characterLength(text: string, at: number): number {
  if (text.charCodeAt(at) !== BACKSLASH) return 1
  return text.charCodeAt(at + 1) === LETTER_U ? 6 : 2
}

/** The string as JSON, without its middle if it is longer than `maxLength`. The mark contains the note. */
function cutJsonString(
  text: string,
  measured: MeasuredString,
  { maxLength, note }: { maxLength: number; note: string },
): string {
  const { quote, end, length, lastPart } = measured
  if (length <= maxLength) return text.slice(quote, end)
  const beginning = readStart(text, measured, maxLength + LOOKAHEAD_LENGTH)
  const ending = unescaped(text.slice(lastPart, end - 1))
  const head = beginning.slice(0, cutBefore(beginning, Math.ceil((maxLength * 2) / 3)))
  const tail = ending.slice(
    cutAfter(ending, ending.length - Math.min(Math.floor(maxLength / 3), TAIL_LENGTH - LOOKAHEAD_LENGTH)),
  )
  const mark = omissionMark(length - head.length - tail.length, 'character')
  return JSON.stringify(`${head} ${mark.slice(0, -2)}${note} … ${tail}`)
}

function readStart(text: string, { quote, end }: MeasuredString, maxLength: number): string {
  let at = quote + 1
  for (let read = 0; read < maxLength && at < end - 1; read++) at += characterLength(text, at)
  return unescaped(text.slice(quote + 1, at))
}

const unescaped = (raw: string): string => JSON.parse(`"${raw}"`) as string
