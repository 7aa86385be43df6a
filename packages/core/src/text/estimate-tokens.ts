import type { JsonObject } from '../json/json.ts'

/** The kinds of runs of characters. A word is a run of capitals, of small letters, or of both in this order. */
type RunKind =
  | 'capital'
  | 'small'
  | 'digit'
  | 'blank'
  | 'line'
  | 'sign'
  | 'han'
  | 'kana'
  | 'hangul'
  | 'cyrillic'
  | OtherKind
type OtherKind = 'wide' | 'pair' | 'script' | 'mark'

/** Where each kind begins beyond ASCII, in the order of the code units. */
const BEYOND_ASCII: readonly (readonly [from: number, kind: RunKind])[] = [
  [0x80, 'mark'],
  [0xc0, 'small'],
  [0x250, 'mark'],
  [0x370, 'script'],
  [0x400, 'cyrillic'],
  [0x530, 'script'],
  [0x2000, 'mark'],
  [0x2e80, 'wide'],
  [0x3041, 'kana'],
  [0x3100, 'wide'],
  [0x3400, 'han'],
  [0xa000, 'script'],
  [0xac00, 'hangul'],
  [0xd7a4, 'script'],
  [0xd800, 'pair'],
  [0xe000, 'wide'],
]

/** For each letter, the letters that follow it in 95 % of the letter pairs in words. */
const FOLLOWERS: readonly number[] = [
  ...['bcdgiklmnprstuvy', 'aeijlorsuy', 'aehiklorstu', 'adeiosu', 'abcdefgilmnpqrstuvwxy', 'aefilorsu', 'aeilnrsu'],
  ...['aeioru', 'abcdefglmnoprstvz', 'eis', 'aeils', 'adefilostuy', 'abeilmopu', 'acdefgiklnopstuy'],
  ...['abcdfgijlmnoprstuvw', 'aeiloprtuy', 'u', 'acdegimnorstuy', 'acehikopstuy', 'acdehilorstuy', 'bcefilmnprst'],
  ...['aeio', 'aehin', 'cpt', 'mnopst', 'e'],
].map((letters) => [...letters].reduce((set, letter) => set | (1 << (letter.charCodeAt(0) - 97)), 0))

const ASCII: readonly RunKind[] = Array.from({ length: 0x80 }, (_, code) => asciiKind(String.fromCharCode(code)))

/**
 * Estimates the number of tokens of a text, within the error that docs/token-estimates.md states. The text is split
 * into the same runs as in tokenizers, and each run has a price by kind and length.
 */
export function estimateTokens(text: string): number {
  let sum = 0
  for (let at = 0; at < text.length; ) {
    const kind = kindAt(text, at)
    const end = runEnd(text, at, kind)
    sum += estimateRun(kind, text, { from: at, end })
    at = end
  }
  return Math.ceil(sum)
}

interface Run {
  readonly from: number
  readonly end: number
}

function asciiKind(character: string): RunKind {
  if (/[A-Z]/.test(character)) return 'capital'
  if (/[a-z]/.test(character)) return 'small'
  if (/[0-9]/.test(character)) return 'digit'
  if (character === ' ') return 'blank'
  return /\s/.test(character) ? 'line' : 'sign'
}

function kindAt(text: string, at: number): RunKind {
  const code = text.charCodeAt(at)
  if (code < 0x80) return ASCII[code] ?? 'sign'
  return BEYOND_ASCII.findLast(([from]) => code >= from)?.[1] ?? 'mark'
}

function runEnd(text: string, from: number, kind: RunKind): number {
  const end = skipKind(text, from, kind)
  if (kind === 'capital') return skipKind(text, end, 'small')
  // The spaces at the beginning of a line belong to the line break before.
  return kind === 'line' ? skipKind(text, end, 'blank') : end
}

function skipKind(text: string, from: number, kind: RunKind): number {
  let end = from
  while (end < text.length && kindAt(text, end) === kind) end++
  return end
}

/** The numbers are fitted to o200k_base with prose, code, data and random text of many sources. */
function estimateRun(kind: RunKind, text: string, run: Run): number {
  const length = run.end - run.from
  switch (kind) {
    case 'capital':
    case 'small':
      return estimateWord(text, run)
    case 'digit':
      return 1.1 * Math.ceil(length / 3)
    case 'blank':
      return length === 1 ? 0 : 1.5 + length / 80
    case 'line':
      return 1.05 + length / 80
    case 'sign':
      return 0.9 + 0.05 * Math.max(0, length - 2)
    default:
      return PER_CHARACTER[kind] * length
  }
}

const PER_CHARACTER: Readonly<
  Record<Exclude<RunKind, 'capital' | 'small' | 'digit' | 'blank' | 'line' | 'sign'>, number>
> = { han: 0.73, kana: 0.62, hangul: 0.68, cyrillic: 0.26, wide: 1.1, pair: 0.9, script: 0.4, mark: 0.6 }

/** Words of a language are mostly one token. Random letters are many. */
function estimateWord(text: string, { from, end }: Run): number {
  const length = end - from
  let price = 0.97 + 0.03 * Math.max(0, length - 6) + 0.2 * Math.max(0, length - 10)
  if (from > 0 && text.charCodeAt(from - 1) !== 0x20) price -= 0.12
  let before = -1
  for (let at = from; at < end; at++) {
    const code = text.charCodeAt(at)
    const letter = (code | 0x20) - 97
    if (code >= 0x80) price += 0.75
    else if (before >= 0 && ((FOLLOWERS[before] ?? 0) & (1 << letter)) === 0) price += 0.62
    if (at > from && code <= 0x5a) price += 0.1
    before = code >= 0x80 ? -1 : letter
  }
  return price
}

/** The tokens of a tool in every turn: agents show a model only its name, description and input schema. */
export function estimateToolTokens(wireName: string, { description, inputSchema }: JsonObject): number {
  return estimateTokens(JSON.stringify({ name: wireName, description, input_schema: inputSchema }))
}
