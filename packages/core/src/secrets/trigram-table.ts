import type { SecretShape } from './secret-shapes.ts'

/** A literal that may begin a secret, and the shapes that begin with it. */
export interface Anchor {
  /** The literal in lower and upper case; both are equal if the case matters. */
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

/** The three characters by which an anchor is found, each in one or two cases. */
export type TrigramClass = readonly [Cases, Cases, Cases]
type Cases = readonly [low: number, ...high: number[]]

/** An anchor that contains a pair of characters, and the offset of the pair in it. */
interface PairUse {
  readonly anchor: Anchor
  readonly offset: number
}

/**
 * Three characters of each anchor, as two overlapping pairs: a search that reads every second pair of a text finds one
 * of the two. Each read is independent of the one before, so the processor can do several at a time.
 */
export class TrigramTable {
  /** By pair of characters: whether it is the first pair of some anchor's trigram (1), the last (2), or both (3). */
  readonly roles = new Uint8Array(0x10000)
  /** The same, with the bytes in the native order of this machine. */
  readonly wordRoles = new Uint8Array(0x10000)
  /** By `hashTrigram`: 1 if some anchor may have this trigram. */
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
    const offset = findRarestOffset(anchor.low)
    const first = { anchor, offset }
    const last = { anchor, offset: offset + 1 }
    const trigram = trigramAt(anchor, offset)
    this.#trigramClasses.set(trigram.join(), trigram)
    for (const [a, b, c] of expandCases(trigram)) {
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

/** The trigram at an offset, with all allowed cases. */
function trigramAt({ low, high }: Anchor, offset: number): TrigramClass {
  const codes = (at: number): Cases =>
    low[at] === high[at] ? [low.charCodeAt(at)] : [low.charCodeAt(at), high.charCodeAt(at)]
  return [codes(offset), codes(offset + 1), codes(offset + 2)]
}

const expandCases = ([as, bs, cs]: TrigramClass): readonly (readonly [number, number, number])[] =>
  as.flatMap((a) => bs.flatMap((b) => cs.map((c) => [a, b, c] as const)))

/** Most frequent first. Other characters are the rarest. */
const FREQUENT = ' etaoinshrdlucmfwypvbgkjqxz'

/** The offset of the trigram whose pairs are rarest in ordinary texts. */
function findRarestOffset(text: string): number {
  const rank = (at: number): number => (FREQUENT.indexOf(text.charAt(at)) + FREQUENT.length) % FREQUENT.length
  const rarity = (at: number): number => rank(at) + rank(at + 1)
  let best = 0
  for (let at = 1; at + 2 < text.length; at++)
    if (Math.min(rarity(at), rarity(at + 1)) > Math.min(rarity(best), rarity(best + 1))) best = at
  return best
}
