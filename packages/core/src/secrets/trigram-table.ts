import type { SecretShape } from './secret-shapes.ts'

/** A literal that may begin a secret, and all shapes that it may begin. */
export interface Anchor {
  /** Each character in both of its cases; the same one twice where only one will do. */
  readonly low: string
  readonly high: string
  readonly mustStartWord: boolean
  readonly lookahead: RegExp | undefined
  readonly shapes: readonly SecretShape[]
}

export function buildAnchors(shapes: readonly SecretShape[]): readonly Anchor[] {
  const byText = new Map<string, Anchor>()
  for (const shape of shapes) {
    const mustStartWord = shape.anchoredBy === 'itself'
    for (const text of shape.anchors) {
      const known = byText.get(text)
      const [low, high] = mustStartWord ? [text, text] : [text.toLowerCase(), text.toUpperCase()]
      byText.set(text, {
        low,
        high,
        mustStartWord,
        lookahead: shape.lookahead,
        shapes: [...(known?.shapes ?? []), shape],
      })
    }
  }
  return [...byText.values()]
}

/** What may stand at each of the three characters by which an anchor is looked for: a character, perhaps in two cases. */
export type TrigramClass = readonly [Cases, Cases, Cases]
type Cases = readonly [low: number, ...high: number[]]

/** An anchor that a pair of characters is part of, and where in the anchor the pair stands. */
interface PairUse {
  readonly anchor: Anchor
  readonly offset: number
}

/**
 * Three characters of each anchor, as two pairs, one behind the other: whoever looks at every second pair of a text meets
 * one of the two. Each look is independent of the one before, so that the processor makes several at a time.
 */
export class TrigramTable {
  /** By both characters: whether the pair is the first of some anchor's three (1), the last (2), or both. */
  readonly roles = new Uint8Array(0x10000)
  /** The same by both bytes as this machine reads them at once. */
  readonly wordRoles = new Uint8Array(0x10000)
  /** By `hashTrigram`: one where these may be the three of some anchor. */
  readonly trigrams = new Uint8Array(0x10000)
  readonly #uses = new Map<number, Set<PairUse>>()
  readonly #trigramClasses = new Map<string, TrigramClass>()

  get isEmpty(): boolean {
    return this.#uses.size === 0
  }

  get trigramClasses(): readonly TrigramClass[] {
    return [...this.#trigramClasses.values()]
  }

  findUses(pair: number): Iterable<PairUse> {
    return this.#uses.get(pair) ?? []
  }

  add(anchor: Anchor): void {
    const place = findRarestOffset(anchor.low)
    const first = { anchor, offset: place }
    const last = { anchor, offset: place + 1 }
    const three = trigramAt(anchor, place)
    this.#trigramClasses.set(three.join(), three)
    for (const [a, b, c] of expandCases(three)) {
      this.trigrams[hashTrigram(a, b, c)] = 1
      this.#addUse(toPair(a, b), IS_FIRST, first)
      this.#addUse(toPair(b, c), IS_LAST, last)
    }
  }

  #addUse(pair: number, role: number, use: PairUse): void {
    this.roles[pair] = (this.roles[pair] as number) | role
    this.wordRoles[toNativeOrder(pair)] = this.roles[pair] as number
    this.#uses.set(pair, (this.#uses.get(pair) ?? new Set()).add(use))
  }
}

export const IS_FIRST = 1
export const IS_LAST = 2

export const toPair = (a: number, b: number): number => ((a & 0xff) << 8) | (b & 0xff)

const IS_LITTLE_ENDIAN = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1

const toNativeOrder = (pair: number): number => (IS_LITTLE_ENDIAN ? ((pair & 0xff) << 8) | (pair >> 8) : pair)

export const hashTrigram = (a: number, b: number, c: number): number => ((a << 10) ^ (b << 5) ^ c) & 0xffff

/** With all cases that will do. */
function trigramAt({ low, high }: Anchor, place: number): TrigramClass {
  const codes = (at: number): Cases =>
    low[at] === high[at] ? [low.charCodeAt(at)] : [low.charCodeAt(at), high.charCodeAt(at)]
  return [codes(place), codes(place + 1), codes(place + 2)]
}

const expandCases = ([as, bs, cs]: TrigramClass): readonly (readonly [number, number, number])[] =>
  as.flatMap((a) => bs.flatMap((b) => cs.map((c) => [a, b, c] as const)))

/** From the most frequent one on; what is not among them is the rarest. */
const FREQUENT = ' etaoinshrdlucmfwypvbgkjqxz'

/** Where two pairs of an anchor begin that ordinary texts seldom hold. */
function findRarestOffset(text: string): number {
  const rank = (at: number): number => (FREQUENT.indexOf(text.charAt(at)) + FREQUENT.length) % FREQUENT.length
  const rarity = (at: number): number => rank(at) + rank(at + 1)
  let best = 0
  for (let at = 1; at + 2 < text.length; at++)
    if (Math.min(rarity(at), rarity(at + 1)) > Math.min(rarity(best), rarity(best + 1))) best = at
  return best
}
