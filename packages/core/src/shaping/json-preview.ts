import { isListAt, isObjectAt, isStringAt, MemberCursor, skipSpace, stringEnd, valueEnd } from '../json/json.ts'
import type { Ends, Preset } from './preset.ts'
import { type Omission, type Preview, SCALES, scaleEnds, scaleLength } from './preview.ts'
import { cutAfter, cutBefore, omissionMark } from './safe-cut.ts'

const MAX_DEPTH = 8
/** No double needs more; what is longer is not meant to be calculated with. */
const MAX_NUMBER_LENGTH = 40

/** How much of a value is written. */
interface Detail {
  readonly items: Ends
  readonly keys: number
  readonly depth: number
  /** The longest text. */
  readonly length: number
}

/** Where all else is small, a long text or two may be shown before anything is left out for them. */
const ATTEMPTS: readonly { readonly scale: number; readonly length: number }[] = [
  { scale: 1, length: 1_600 },
  { scale: 1, length: 800 },
  ...SCALES.map((scale) => ({ scale, length: scaleLength(scale) })),
]

export function jsonDetail({ items, keys }: Preset, scale: number, length = scaleLength(scale)): Detail {
  return {
    items: scaleEnds(items, scale),
    keys: Math.max(1, Math.ceil(keys * scale)),
    depth: Math.max(1, Math.ceil(MAX_DEPTH * scale)),
    length,
  }
}

/** Ever smaller previews of a JSON value, each of them JSON. */
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

/** Writes values of proven JSON with the middle of their parts left out. Nothing is parsed, so that numbers stay as they are. */
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

  /** Nothing where it would be longer than any preview may be. */
  write(at: number, detail: Detail): Pick<Preview, 'text' | 'hasCuts'> | undefined {
    this.#pieces = []
    this.#length = 0
    this.#hasCuts = false
    this.#root = at
    this.#value(at, detail)
    return this.#isFull() ? undefined : { text: this.#pieces.join(''), hasCuts: this.#hasCuts }
  }

  /** What `write` leaves out of the value's own parts; all of them where there is no detail. */
  omissionAt(at: number, detail: Detail | undefined): Omission {
    if (isStringAt(this.#text, at)) return this.#textOmission(at, detail)
    const isObject = isObjectAt(this.#text, at)
    if (!isObject && !isListAt(this.#text, at)) return { noun: 'character', count: 0, of: this.#text.length }
    const { count } = this.#outlines.at(at)
    const shown = detail === undefined ? 0 : isObject ? detail.keys : detail.items.head + detail.items.tail
    return { noun: isObject ? 'key' : 'item', count: Math.max(0, count - shown), of: count }
  }

  /** A value in words: what stands in the place of one that is left out. */
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

  #cut(words: string): void {
    this.#hasCuts = true
    this.#put(JSON.stringify(words))
  }

  #value(at: number, detail: Detail): void {
    if (this.#isFull()) return
    if (isStringAt(this.#text, at)) this.#quoted(at, { most: detail.length, note: '' })
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
    const ends = isObject ? { head: detail.keys, tail: 0 } : detail.items
    const inner = { ...detail, depth: detail.depth - 1 }
    const first = head.slice(0, ends.head)
    const rest = [...head, ...tail].slice(Math.max(first.length, head.length + tail.length - ends.tail))
    const omitted = count - first.length - rest.length
    const mark = omissionMark(omitted, isObject ? 'key' : 'item')
    this.#put(isObject ? '{' : '[')
    this.#members(first, inner)
    if (omitted > 0) {
      // What the value itself lacks is told by its count; what its parts lack is not.
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

  /** Two long keys may begin and end alike: where one is cut, its number keeps them apart. */
  #key(at: number, index: number, most: number): void {
    this.#quoted(at, { most, note: ` (key ${index + 1})` })
    this.#put(':')
  }

  #quoted(at: number, cut: { readonly most: number; readonly note: string }): void {
    const measured = this.#measured(at)
    if (measured.length > cut.most) this.#hasCuts = true
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

/** One member of an object or item of an array, by its places in the text. */
interface OutlineMember {
  readonly index: number
  /** Of the key's first quotation mark; -1 in an array. */
  readonly key: number
  readonly start: number
}

/** The beginning and the end of what an object or array holds. */
interface JsonOutline {
  readonly count: number
  readonly head: readonly OutlineMember[]
  /** The last ones, without those of the head. */
  readonly tail: readonly OutlineMember[]
}

/**
 * The sketches of one text that is known to be JSON. Each is made when it is first looked at and kept, so that trying
 * previews of several sizes goes through each part of the text once.
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
    const sketch = this.#build(container)
    this.#outlines.set(container, sketch)
    return sketch
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
    const tail = Array.from({ length: Math.max(0, count - first) }, (_, place) => {
      const index = first + place
      return { index, key: keys[index % tails] ?? -1, start: starts[index % tails] ?? 0 }
    })
    return { count, head, tail }
  }
}

const BACKSLASH = 0x5c
const LETTER_U = 0x75
/** Of the end of a text, as much as any cut keeps and a few more: whether a place can be cut is told by its neighbours. */
const TAIL_LENGTH = 600
const LOOKAHEAD_LENGTH = 64

/** A text in proven JSON. Lengths are of what it says, with its escapes read. */
interface MeasuredString {
  readonly quote: number
  readonly end: number
  readonly length: number
  /** Where its last characters begin. Found from the start: from the end nobody can tell what a backslash belongs to. */
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

/** The text in JSON, with its middle left out where it is longer than `most`. The note is said within the mark. */
function cutJsonString(text: string, measured: MeasuredString, { most, note }: { most: number; note: string }): string {
  const { quote, end, length, lastPart } = measured
  if (length <= most) return text.slice(quote, end)
  const beginning = readStart(text, measured, most + LOOKAHEAD_LENGTH)
  const ending = unescaped(text.slice(lastPart, end - 1))
  const head = beginning.slice(0, cutBefore(beginning, Math.ceil((most * 2) / 3)))
  const tail = ending.slice(
    cutAfter(ending, ending.length - Math.min(Math.floor(most / 3), TAIL_LENGTH - LOOKAHEAD_LENGTH)),
  )
  const mark = omissionMark(length - head.length - tail.length, 'character')
  return JSON.stringify(`${head} ${mark.slice(0, -2)}${note} … ${tail}`)
}

function readStart(text: string, { quote, end }: MeasuredString, most: number): string {
  let at = quote + 1
  for (let read = 0; read < most && at < end - 1; read++) at += characterLength(text, at)
  return unescaped(text.slice(quote + 1, at))
}

const unescaped = (raw: string): string => JSON.parse(`"${raw}"`) as string
