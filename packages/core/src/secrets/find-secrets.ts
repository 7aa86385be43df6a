import type { Span } from '../json/json.ts'
import { type AnchorMatch, findAnchors } from './secret-anchors.ts'
import type { SecretShape } from './secret-shapes.ts'

/** The position and kind of a secret, never its content. */
export interface FoundSecret extends Span {
  readonly kind: string
}

const NO_SECRETS: readonly FoundSecret[] = Object.freeze([])

/** Finds keys and tokens of known shapes, in order. Overlapping ones are merged. Runs in linear time. */
export function findSecrets(text: string): readonly FoundSecret[] {
  const anchors = findAnchors(text)
  if (anchors.length === 0) return NO_SECRETS
  return mergeOverlaps(new SecretScan(text).findAll(anchors))
}

/** The same in steps, so that other work can run in between. */
export function* findSecretsInSteps(text: string, length: number): Generator<undefined, readonly FoundSecret[]> {
  const anchors: AnchorMatch[] = []
  for (let from = 0; from < text.length; from += length) {
    for (const anchor of findAnchors(text, from, from + length)) anchors.push(anchor)
    yield
  }
  // A match may begin before the step in which it was found.
  return mergeOverlaps(new SecretScan(text).findAll(anchors.sort((a, b) => a.at - b.at)))
}

/** Replaces each secret by its kind. */
export function redactText(text: string): string {
  const found = findSecrets(text)
  return found.length === 0 ? text : redactSpans(text, found)
}

/** The same for a truncated text: also replaces what begins like a secret and continues to the end. */
export function redactTruncatedText(text: string): string {
  const isOpen = ({ at, shapes }: AnchorMatch): boolean =>
    shapes.some(({ anchoredBy }) => anchoredBy === 'itself') && !/[^\w.+/=-]/.test(text.slice(at))
  const open = findAnchors(text).find(isOpen)
  const [shape] = open?.shapes ?? []
  if (open === undefined || shape === undefined) return redactText(text)
  return redactText(text.slice(0, open.at)) + formatRedaction(shape.kind)
}

export function redactSpans(text: string, found: readonly FoundSecret[]): string {
  let redacted = ''
  let at = 0
  for (const { kind, start, end } of found) {
    redacted += `${text.slice(at, start)}${formatRedaction(kind)}`
    at = end
  }
  return redacted + text.slice(at)
}

export const formatRedaction = (kind: string): string => `[redacted: ${kind}]`

/** A regular expression uses stack for every character, and no real secret is longer. */
const MAX_SECRET_LENGTH = 1_000_000
/** A character that ends every secret that is anchored by itself. */
const SECRET_END = /[^\w.+/=~\\-]/g

class SecretScan {
  readonly #text: string
  /** Where the last match of each shape ended: a new match cannot begin before that. */
  readonly #scannedTo = new Map<SecretShape, number>()

  constructor(text: string) {
    this.#text = text
  }

  findAll(anchors: readonly AnchorMatch[]): readonly AnchoredSecret[] {
    const found: AnchoredSecret[] = []
    for (const { at, shapes } of anchors) {
      for (const shape of shapes) {
        if (at < (this.#scannedTo.get(shape) ?? 0)) continue
        const secret = this.#matchAt(shape, at)
        if (secret !== undefined) found.push(secret)
      }
    }
    return found
  }

  #matchAt(shape: SecretShape, at: number): AnchoredSecret | undefined {
    const { pattern, kind, anchoredBy } = shape
    const isLarge = this.#text.length - at > MAX_SECRET_LENGTH
    pattern.lastIndex = isLarge ? 0 : at
    const match = pattern.exec(isLarge ? this.#text.slice(at, at + MAX_SECRET_LENGTH) : this.#text)
    if (match === null) return undefined
    const [whole, before = ''] = match
    const end = whole.length < MAX_SECRET_LENGTH ? at + whole.length : this.#findEnd(at + whole.length)
    this.#scannedTo.set(shape, end)
    if (!shape.isReal(whole.slice(before.length), this.#text.charAt(end))) return undefined
    return { kind, start: at + before.length, end, anchoredBy }
  }

  #findEnd(at: number): number {
    SECRET_END.lastIndex = at
    return SECRET_END.exec(this.#text)?.index ?? this.#text.length
  }
}

interface AnchoredSecret extends FoundSecret {
  readonly anchoredBy: SecretShape['anchoredBy']
}

/** Overlapping secrets get the kind of the first one. If two begin together, the one anchored by itself wins. */
function mergeOverlaps(found: readonly AnchoredSecret[]): readonly FoundSecret[] {
  const apart: FoundSecret[] = []
  const inOrder = [...found].sort((a, b) => a.start - b.start || a.anchoredBy.localeCompare(b.anchoredBy))
  for (const { kind, start, end } of inOrder) {
    const secret = { kind, start, end }
    const last = apart.at(-1)
    if (last === undefined || secret.start >= last.end) apart.push(secret)
    else apart[apart.length - 1] = { ...last, end: Math.max(last.end, secret.end) }
  }
  return apart
}
