import type { Span } from './json/json.ts'
import { type AnchorPlace, anchorPlaces } from './secret-anchors.ts'
import type { SecretShape } from './secret-shapes.ts'

/** Where a secret stands in a text, and what it is; never what it says. */
export interface FoundSecret extends Span {
  readonly kind: string
}

const NOTHING: readonly FoundSecret[] = Object.freeze([])

/** Keys and tokens of known shapes, in order. What overlaps is one. Takes time linear in the text. */
export function findSecrets(text: string): readonly FoundSecret[] {
  const places = anchorPlaces(text)
  if (places.length === 0) return NOTHING
  return merged(new Search(text).all(places))
}

/** The same, step by step: a large text takes several, and others may have their turn in between. */
export function* findSecretsInSteps(text: string, length: number): Generator<undefined, readonly FoundSecret[]> {
  const places: AnchorPlace[] = []
  for (let from = 0; from < text.length; from += length) {
    for (const place of anchorPlaces(text, from, from + length)) places.push(place)
    yield
  }
  // One that begins before a step may have been found in it.
  return merged(new Search(text).all(places.sort((a, b) => a.at - b.at)))
}

/** The same text with the kind of each secret in the place of the secret. */
export function redactText(text: string): string {
  const found = findSecrets(text)
  return found.length === 0 ? text : redactSpans(text, found)
}

/** The same for a text that was cut: what begins like a secret and goes on to the end may be the rest of one. */
export function redactCutText(text: string): string {
  const isOpen = ({ at, shapes }: AnchorPlace): boolean =>
    shapes.some(({ anchoredBy }) => anchoredBy === 'itself') && !/[^\w.+/=-]/.test(text.slice(at))
  const open = anchorPlaces(text).find(isOpen)
  const [shape] = open?.shapes ?? []
  if (open === undefined || shape === undefined) return redactText(text)
  return redactText(text.slice(0, open.at)) + redactionOf(shape.kind)
}

export function redactSpans(text: string, found: readonly FoundSecret[]): string {
  let redacted = ''
  let at = 0
  for (const { kind, start, end } of found) {
    redacted += `${text.slice(at, start)}${redactionOf(kind)}`
    at = end
  }
  return redacted + text.slice(at)
}

export const redactionOf = (kind: string): string => `[redacted: ${kind}]`

/** A pattern takes stack for every character, and more than this is no secret that anybody has. */
const LONGEST = 1_000_000
/** What none of those goes on with that are known by themselves. */
const SECRET_END = /[^\w.+/=~\\-]/g

class Search {
  readonly #text: string
  /** How far each shape has looked: what it was announced by cannot begin within what it looked at already. */
  readonly #seen = new Map<SecretShape, number>()

  constructor(text: string) {
    this.#text = text
  }

  all(places: readonly AnchorPlace[]): readonly Found[] {
    const found: Found[] = []
    for (const { at, shapes } of places) {
      for (const shape of shapes) {
        if (at < (this.#seen.get(shape) ?? 0)) continue
        const secret = this.#at(shape, at)
        if (secret !== undefined) found.push(secret)
      }
    }
    return found
  }

  #at(shape: SecretShape, at: number): Found | undefined {
    const { pattern, kind, anchoredBy } = shape
    const isLarge = this.#text.length - at > LONGEST
    pattern.lastIndex = isLarge ? 0 : at
    const match = pattern.exec(isLarge ? this.#text.slice(at, at + LONGEST) : this.#text)
    if (match === null) return undefined
    const [whole, before = ''] = match
    const end = whole.length < LONGEST ? at + whole.length : this.#endBehind(at + whole.length)
    this.#seen.set(shape, end)
    if (!shape.isReal(whole.slice(before.length), this.#text.charAt(end))) return undefined
    return { kind, start: at + before.length, end, anchoredBy }
  }

  #endBehind(at: number): number {
    SECRET_END.lastIndex = at
    return SECRET_END.exec(this.#text)?.index ?? this.#text.length
  }
}

interface Found extends FoundSecret {
  readonly anchoredBy: SecretShape['anchoredBy']
}

/** The first to begin names the whole, and of two that begin together the one that is known by itself. */
function merged(found: readonly Found[]): readonly FoundSecret[] {
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
