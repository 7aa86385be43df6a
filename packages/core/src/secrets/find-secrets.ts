import type { Span } from '../json/json.ts'
import { type AnchorMatch, findAnchors } from './secret-anchors.ts'
import type { SecretShape } from './secret-shapes.ts'

/** Where a secret stands in a text, and what it is; never what it says. */
export interface FoundSecret extends Span {
  readonly kind: string
}

const NO_SECRETS: readonly FoundSecret[] = Object.freeze([])

/** Keys and tokens of known shapes, in order. What overlaps is one. Takes time linear in the text. */
export function findSecrets(text: string): readonly FoundSecret[] {
  const places = findAnchors(text)
  if (places.length === 0) return NO_SECRETS
  return mergeOverlaps(new SecretScan(text).findAll(places))
}

/** The same, step by step: a large text takes several, and others may have their turn in between. */
export function* findSecretsInSteps(text: string, length: number): Generator<undefined, readonly FoundSecret[]> {
  const places: AnchorMatch[] = []
  for (let from = 0; from < text.length; from += length) {
    for (const place of findAnchors(text, from, from + length)) places.push(place)
    yield
  }
  // One that begins before a step may have been found in it.
  return mergeOverlaps(new SecretScan(text).findAll(places.sort((a, b) => a.at - b.at)))
}

/** The same text with the kind of each secret in the place of the secret. */
export function redactText(text: string): string {
  const found = findSecrets(text)
  return found.length === 0 ? text : redactSpans(text, found)
}

/** The same for a text that was cut: what begins like a secret and goes on to the end may be the rest of one. */
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

/** A pattern takes stack for every character, and more than this is no secret that anybody has. */
const MAX_SECRET_LENGTH = 1_000_000
/** What none of those goes on with that are known by themselves. */
const SECRET_END = /[^\w.+/=~\\-]/g

class SecretScan {
  readonly #text: string
  /** How far each shape has looked: what it was announced by cannot begin within what it looked at already. */
  readonly #scannedTo = new Map<SecretShape, number>()

  constructor(text: string) {
    this.#text = text
  }

  findAll(places: readonly AnchorMatch[]): readonly AnchoredSecret[] {
    const found: AnchoredSecret[] = []
    for (const { at, shapes } of places) {
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

/** The first to begin names the whole, and of two that begin together the one that is known by itself. */
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
