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

/** An anchor that a pair of characters is part of, and where in the anchor the pair stands. */
interface PairUse {
  readonly anchor: Anchor
  readonly place: number
}

/**
 * Three characters of each anchor, as two pairs, one behind the other: whoever looks at every second pair of a text meets
 * one of the two. Each look is independent of the one before, so that the processor makes several at a time.
 */
export interface PairTable {
  /** By both characters: whether the pair is the first of some anchor's three (1), the last (2), or both. */
  readonly roles: Uint8Array
  /** By `threeHash`: one where these may be the three of some anchor. */
  readonly threes: Uint8Array
  readonly uses: ReadonlyMap<number, readonly PairUse[]>
}

export const IS_FIRST = 1
export const IS_LAST = 2

export function pairTable(anchors: readonly Anchor[]): PairTable {
  const roles = new Uint8Array(0x10000)
  const threes = new Uint8Array(0x10000)
  const uses = new Map<number, PairUse[]>()
  for (const anchor of anchors) {
    const first = rarestPlace(anchor.low)
    for (const [a, b, c] of threesAt(anchor, first)) {
      threes[threeHash(a, b, c)] = 1
      for (const [pair, role] of [
        [pairOf(a, b), IS_FIRST],
        [pairOf(b, c), IS_LAST],
      ] as const) {
        const use = { anchor, place: first + role - 1 }
        const known = uses.get(pair) ?? []
        roles[pair] = (roles[pair] as number) | role
        if (!known.some(({ anchor, place }) => anchor === use.anchor && place === use.place))
          uses.set(pair, [...known, use])
      }
    }
  }
  return { roles, threes, uses }
}

export const pairOf = (a: number, b: number): number => ((a & 0xff) << 8) | (b & 0xff)

export const threeHash = (a: number, b: number, c: number): number => ((a << 10) ^ (b << 5) ^ c) & 0xffff

/** The same letters in both cases are different ones. */
function threesAt({ low, high }: Anchor, first: number): readonly (readonly [number, number, number])[] {
  const codes = (at: number): readonly number[] => [low.charCodeAt(first + at), high.charCodeAt(first + at)]
  return codes(0).flatMap((a) => codes(1).flatMap((b) => codes(2).map((c) => [a, b, c] as const)))
}

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
