import type { SecretShape } from './secret-shapes.ts'

/** A literal that may begin a secret, and all shapes that it may begin. */
export interface Anchor {
  /** Each character in both of its cases; the same one twice where only one will do. */
  readonly low: string
  readonly high: string
  readonly isWhole: boolean
  /** Where the part of it that is looked for ends. */
  readonly end: number
  readonly near: RegExp | undefined
  readonly shapes: readonly SecretShape[]
}

/** How much of each anchor is looked for. The shortest are one shorter: anything may stand before them. */
export const ANCHOR_WINDOW = 4

const ANY_BYTE = Array.from({ length: 0x100 }, (_, byte) => byte)

/** From the most frequent one on. */
const LETTERS = ' etaoinshrdlucmfwypvbgkjqxz'

/** Where a part of an anchor ends that ordinary texts seldom hold. */
export function rarestEnd(text: string): number {
  const rank = (at: number): number => (LETTERS.indexOf(text.charAt(at)) + LETTERS.length) % LETTERS.length
  let best = Math.min(text.length, ANCHOR_WINDOW)
  for (let end = best; end <= text.length; end++)
    if (rank(end - 2) + rank(end - 1) > rank(best - 2) + rank(best - 1)) best = end
  return best
}

export function anchorsOf(shapes: readonly SecretShape[]): readonly Anchor[] {
  const byText = new Map<string, Anchor>()
  for (const shape of shapes) {
    const isWhole = shape.anchoredBy === 'itself'
    for (const text of shape.anchors) {
      const known = byText.get(text)
      const [low, high] = isWhole ? [text, text] : [text.toLowerCase(), text.toUpperCase()]
      byText.set(text, {
        low,
        high,
        isWhole,
        end: rarestEnd(low),
        near: shape.near,
        shapes: [...(known?.shapes ?? []), shape],
      })
    }
  }
  return [...byText.values()]
}

interface ShiftTable {
  /** For each two bytes: how far the next place can be at which a window ends; zero where one may end here. */
  readonly shifts: Uint8Array
  readonly byEnd: ReadonlyMap<number, readonly Anchor[]>
}

/** After Wu and Manber: most texts are passed over three bytes at a time. */
export function shiftTable(anchors: readonly Anchor[]): ShiftTable {
  const shifts = new Uint8Array(0x10000).fill(ANCHOR_WINDOW - 1)
  const byEnd = new Map<number, Anchor[]>()
  for (const anchor of anchors) {
    for (let end = 1; end < ANCHOR_WINDOW; end++) {
      for (const pair of pairsOf(anchor, end)) {
        shifts[pair] = Math.min(shifts[pair] as number, ANCHOR_WINDOW - 1 - end)
        if (end === ANCHOR_WINDOW - 1) byEnd.set(pair, [...(byEnd.get(pair) ?? []), anchor])
      }
    }
  }
  return { shifts, byEnd }
}

function pairsOf(anchor: Anchor, end: number): readonly number[] {
  const seconds = bytesAt(anchor, end)
  return bytesAt(anchor, end - 1).flatMap((first) => seconds.map((second) => (first << 8) | second))
}

/** What may stand at a place of the window: before its beginning, anything. */
function bytesAt({ low, high, end }: Anchor, place: number): readonly number[] {
  const at = end - ANCHOR_WINDOW + place
  return at < 0 ? ANY_BYTE : [...new Set([low.charCodeAt(at), high.charCodeAt(at)])]
}
