import { redactText } from './find-secrets.ts'

const MASK = '•••'

/** Shorter values occur in ordinary words: masking them would damage the text and hide nothing. */
const MIN_LENGTH = 6
/** A part of at least this length at the end of a text is treated as the beginning of a truncated secret. */
const MIN_PART_LENGTH = 4
/** With more secrets the text is scanned once for all of them. With fewer, one scan per secret is faster. */
const MANY = 50
const ENDING_LENGTH = 4

/** The scheme before the secret in an `Authorization` header. */
const SCHEME = /^(apikey|basic|bearer|digest|negotiate|token)\s+/i

/** All forms of these values that must be masked, longest first, so that no part of a longer one remains. */
export function listSecretForms(values: Iterable<string>): readonly string[] {
  const forms = new Set([...values].flatMap(listForms).filter((form) => form.length >= MIN_LENGTH))
  return [...forms].sort((a, b) => b.length - a.length)
}

/** The whole value, each line (for logs), the value without a header scheme, and its URL encoding. */
function listForms(value: string): readonly string[] {
  const whole = value.trim()
  const lines = whole.split(/[\r\n]+/).map((line) => line.trim())
  // A lone surrogate cannot be URL-encoded.
  const encoded = /\p{Cs}/u.test(whole) ? whole : encodeURIComponent(whole)
  return [whole, whole.replace(SCHEME, ''), ...lines, encoded]
}

/**
 * Masks the given secrets in a text, also one that is truncated at the end of the text, and everything that has the
 * shape of a secret. `secrets` come from `listSecretForms`.
 */
export function maskSecrets(text: string, secrets: readonly string[]): string {
  return redactText(maskKnown(text, secrets))
}

function maskKnown(text: string, secrets: readonly string[]): string {
  const whole =
    secrets.length > MANY ? findSpansOfMany(secrets, text) : secrets.flatMap((secret) => findSpans(secret, text))
  const cut = secrets.flatMap((secret) => findTruncatedSpan(secret, text))
  const spans = [...whole, ...cut].sort((a, b) => a.start - b.start)
  let masked = ''
  let at = 0
  for (const { start, end } of spans) {
    // Overlapping secrets are masked as one: the text between their ends belongs to one of them.
    if (start >= at) masked += `${text.slice(at, start)}${MASK}`
    at = Math.max(at, end)
  }
  return masked + text.slice(at)
}

interface TextSpan {
  readonly start: number
  readonly end: number
}

function findSpans(secret: string, text: string): readonly TextSpan[] {
  const spans: TextSpan[] = []
  for (let start = text.indexOf(secret); start >= 0; start = text.indexOf(secret, start + 1))
    spans.push({ start, end: start + secret.length })
  return spans
}

/** Scans the text once and looks up secrets by their last characters, since many begin alike. */
function findSpansOfMany(secrets: readonly string[], text: string): readonly TextSpan[] {
  const spans = secrets.flatMap((secret) => (secret.length < ENDING_LENGTH ? findSpans(secret, text) : []))
  const byEnding = groupByEnding(secrets.filter((secret) => secret.length >= ENDING_LENGTH))
  let ending = 0
  for (let at = 0; at < text.length; at++) {
    ending = updateHash(ending, text, at)
    for (const secret of byEnding.get(ending) ?? []) {
      const start = at + 1 - secret.length
      if (start >= 0 && text.startsWith(secret, start)) spans.push({ start, end: at + 1 })
    }
  }
  return spans
}

function groupByEnding(secrets: readonly string[]): ReadonlyMap<number, readonly string[]> {
  const groups = new Map<number, string[]>()
  for (const secret of secrets) {
    const ending = hashEnding(secret)
    const group = groups.get(ending) ?? []
    groups.set(ending, group)
    group.push(secret)
  }
  return groups
}

function hashEnding(secret: string): number {
  let ending = 0
  for (let at = secret.length - ENDING_LENGTH; at < secret.length; at++) ending = updateHash(ending, secret, at)
  return ending
}

/** A 20-bit hash, shifted by 5 bits per character: it depends on the last four characters only. */
const updateHash = (ending: number, text: string, at: number): number =>
  ((ending << 5) ^ text.charCodeAt(at)) & 0xf_ffff

/** The longest beginning of a secret that the text ends with. */
function findTruncatedSpan(secret: string, text: string): readonly TextSpan[] {
  for (let length = Math.min(secret.length - 1, text.length); length >= MIN_PART_LENGTH; length--)
    if (text.endsWith(secret.slice(0, length))) return [{ start: text.length - length, end: text.length }]
  return []
}
