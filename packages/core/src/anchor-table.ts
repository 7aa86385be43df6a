import type { SecretShape } from './secret-shapes.ts'

/** A literal that may begin a secret, and all shapes that it may begin. */
export interface Anchor {
  /** Each character in both of its cases; the same one twice where only one will do. */
  readonly low: string
  readonly high: string
  readonly isWhole: boolean
  readonly near: RegExp | undefined
  readonly shapes: readonly SecretShape[]
}

export function anchorsOf(shapes: readonly SecretShape[]): readonly Anchor[] {
  const byText = new Map<string, Anchor>()
  for (const shape of shapes) {
    const isWhole = shape.anchoredBy === 'itself'
    for (const text of shape.anchors) {
      const known = byText.get(text)
      const [low, high] = isWhole ? [text, text] : [text.toLowerCase(), text.toUpperCase()]
      byText.set(text, { low, high, isWhole, near: shape.near, shapes: [...(known?.shapes ?? []), shape] })
    }
  }
  return [...byText.values()]
}

/** What may stand at each of the three characters by which an anchor is looked for: a character, perhaps in two cases. */
export type ThreeClass = readonly [Cases, Cases, Cases]
type Cases = readonly [low: number, ...high: number[]]

/** An anchor that a pair of characters is part of, and where in the anchor the pair stands. */
interface PairUse {
  readonly anchor: Anchor
  readonly place: number
}

/**
 * Three characters of each anchor, as two pairs, one behind the other: whoever looks at every second pair of a text meets
 * one of the two. Each look is independent of the one before, so that the processor makes several at a time.
 */
export class PairTable {
  /** By both characters: whether the pair is the first of some anchor's three (1), the last (2), or both. */
  readonly roles = new Uint8Array(0x10000)
  /** The same by both bytes as this machine reads them at once. */
  readonly wordRoles = new Uint8Array(0x10000)
  /** By `threeHash`: one where these may be the three of some anchor. */
  readonly threes = new Uint8Array(0x10000)
  readonly #uses = new Map<number, Set<PairUse>>()
  readonly #threeClasses = new Map<string, ThreeClass>()

  get isEmpty(): boolean {
    return this.#uses.size === 0
  }

  get threeClasses(): readonly ThreeClass[] {
    return [...this.#threeClasses.values()]
  }

  usesOf(pair: number): Iterable<PairUse> {
    return this.#uses.get(pair) ?? []
  }

  add(anchor: Anchor): void {
    const place = rarestPlace(anchor.low)
    const first = { anchor, place }
    const last = { anchor, place: place + 1 }
    const three = threeAt(anchor, place)
    this.#threeClasses.set(three.join(), three)
    for (const [a, b, c] of allOf(three)) {
      this.threes[threeHash(a, b, c)] = 1
      this.#note(pairOf(a, b), IS_FIRST, first)
      this.#note(pairOf(b, c), IS_LAST, last)
    }
  }

  #note(pair: number, role: number, use: PairUse): void {
    this.roles[pair] = (this.roles[pair] as number) | role
    this.wordRoles[asRead(pair)] = this.roles[pair] as number
    this.#uses.set(pair, (this.#uses.get(pair) ?? new Set()).add(use))
  }
}

export const IS_FIRST = 1
export const IS_LAST = 2

export const pairOf = (a: number, b: number): number => ((a & 0xff) << 8) | (b & 0xff)

const IS_LITTLE_ENDIAN = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1

const asRead = (pair: number): number => (IS_LITTLE_ENDIAN ? ((pair & 0xff) << 8) | (pair >> 8) : pair)

export const threeHash = (a: number, b: number, c: number): number => ((a << 10) ^ (b << 5) ^ c) & 0xffff

/** With all cases that will do. */
function threeAt({ low, high }: Anchor, place: number): ThreeClass {
  const codes = (at: number): Cases =>
    low[at] === high[at] ? [low.charCodeAt(at)] : [low.charCodeAt(at), high.charCodeAt(at)]
  return [codes(place), codes(place + 1), codes(place + 2)]
}

const allOf = ([as, bs, cs]: ThreeClass): readonly (readonly [number, number, number])[] =>
  as.flatMap((a) => bs.flatMap((b) => cs.map((c) => [a, b, c] as const)))

/** From the most frequent one on; what is not among them is the rarest. */
const FREQUENT = ' etaoinshrdlucmfwypvbgkjqxz'

/** Where two pairs of an anchor begin that ordinary texts seldom hold. */
function rarestPlace(text: string): number {
  const rank = (at: number): number => (FREQUENT.indexOf(text.charAt(at)) + FREQUENT.length) % FREQUENT.length
  const rarity = (at: number): number => rank(at) + rank(at + 1)
  let best = 0
  for (let at = 1; at + 2 < text.length; at++)
    if (Math.min(rarity(at), rarity(at + 1)) > Math.min(rarity(best), rarity(best + 1))) best = at
  return best
}
