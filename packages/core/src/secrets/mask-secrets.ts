import { redactText } from './find-secrets.ts'

const MASK = '•••'

/** What is shorter is found in ordinary words: to mask it would spoil the text and hide nothing. */
const MIN_LENGTH = 6
/** A part of this length at the end of a text is taken for the beginning of a secret that was cut there. */
const MIN_PART_LENGTH = 4
/** With more secrets the text is read once for all of them; with fewer, once for each is quicker. */
const MANY = 50
const ENDING_LENGTH = 4

/** What stands before the secret in an `Authorization` header. */
const SCHEME = /^(apikey|basic|bearer|digest|negotiate|token)\s+/i

/** Every form in which these values must not be shown, longest first, so that none leaves a part of another behind. */
export function listSecretForms(values: Iterable<string>): readonly string[] {
  const forms = new Set([...values].flatMap(listForms).filter((form) => form.length >= MIN_LENGTH))
  return [...forms].sort((a, b) => b.length - a.length)
}

/** Whole, line by line (a log knows lines only), after the scheme of a header, and as a URL carries it. */
function listForms(value: string): readonly string[] {
  const whole = value.trim()
  const lines = whole.split(/[\r\n]+/).map((line) => line.trim())
  // Half a surrogate pair has no form in a URL.
  const encoded = /\p{Cs}/u.test(whole) ? whole : encodeURIComponent(whole)
  return [whole, whole.replace(SCHEME, ''), ...lines, encoded]
}

/**
 * A text that may repeat what is secret, fit to be shown: without the given secrets, also one that was cut at its end,
 * and without what has the shape of one. `secrets` are as `listSecretForms` gives them.
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
    // Secrets that overlap are one: what stands between their ends would be a part of one of them.
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

/** Reads the text once for all secrets, which are looked up by their last characters: many begin alike. */
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

/** Of 20 bits, each character moving the others by 5: it depends on the last four alone. */
const updateHash = (ending: number, text: string, at: number): number =>
  ((ending << 5) ^ text.charCodeAt(at)) & 0xf_ffff

/** What of the beginning of a secret the text ends with. */
function findTruncatedSpan(secret: string, text: string): readonly TextSpan[] {
  for (let length = Math.min(secret.length - 1, text.length); length >= MIN_PART_LENGTH; length--)
    if (text.endsWith(secret.slice(0, length))) return [{ start: text.length - length, end: text.length }]
  return []
}
