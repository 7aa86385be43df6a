import { stringEnd } from '../json/json.ts'
import { cutAfter, cutBefore, omissionMark } from './safe-cut.ts'

const BACKSLASH = 0x5c
const LETTER_U = 0x75
/** Of the end of a text, as much as any cut keeps and a few more: whether a place can be cut is told by its neighbours. */
const TAIL_LENGTH = 600
const LOOKAHEAD_LENGTH = 64

/** A text in proven JSON. Lengths are of what it says, with its escapes read. */
export interface MeasuredString {
  readonly quote: number
  readonly end: number
  readonly length: number
  /** Where its last characters begin. Found from the start: from the end nobody can tell what a backslash belongs to. */
  readonly lastPart: number
}

export function measureJsonString(text: string, quote: number): MeasuredString {
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
export function cutJsonString(
  text: string,
  measured: MeasuredString,
  { most, note }: { most: number; note: string },
): string {
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
