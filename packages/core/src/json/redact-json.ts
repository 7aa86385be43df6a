import { type FoundSecret, findSecrets, findSecretsInSteps, redactSpans } from '../secrets/find-secrets.ts'
import { listJsonStrings } from './json-strings.ts'
import type { Json, JsonObject } from './json-value.ts'

/** Finds secrets in the value of a member. Its key may reveal a secret that the text alone does not. */
export function findMemberSecrets(name: string, text: string): readonly FoundSecret[] {
  const prefix = namePrefix(name)
  const found = findSecrets(prefix + text)
  return prefix === '' ? found : shiftSecrets(prefix, found)
}

/** The key as a prefix for the search; empty if the key cannot announce a secret. */
const namePrefix = (name: string): string => (MAY_NAME_SECRET.test(name) ? `${name}:` : '')

function shiftSecrets({ length }: string, found: readonly FoundSecret[]): readonly FoundSecret[] {
  return found
    .filter(({ end }) => end > length)
    .map(({ kind, start, end }) => ({ kind, start: Math.max(0, start - length), end: end - length }))
}

/** A quick check whether a key may announce a secret. */
const MAY_NAME_SECRET = /pass|secret|key$|token$|authorization$/i

/** Redacts a string of JSON. `name` is the key of the member whose value it is; empty if there is none. */
export type RedactString = (name: string, text: string) => string

/** Replaces every secret in strings and keys. Returns the same object if there is none. */
export function redactJson(value: Json): Json {
  return redactValue(value, '')
}

function redactValue(value: Json, name: string): Json {
  if (typeof value === 'string') return redactMember(name, value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    const items = value.map((item: Json) => redactValue(item, ''))
    return items.some((item, at) => item !== value[at]) ? items : value
  }
  return redactObject(value as JsonObject)
}

function redactObject(object: JsonObject): JsonObject {
  const names = new UniqueNames(redactMember)
  const entries = Object.entries(object) as (readonly [string, Json])[]
  let isChanged = false
  const members = entries.map(([name, value]): readonly [string, Json] => {
    const shown = names.redact(name)
    const item = redactValue(value, name)
    isChanged ||= shown !== name || item !== value
    return [shown, item]
  })
  // `fromEntries` defines the members: assigning to `__proto__` would not.
  return isChanged ? Object.fromEntries(members) : object
}

/** Different keys must stay different after redaction. */
class UniqueNames {
  readonly #redactString: RedactString
  #count = 0

  constructor(redactString: RedactString) {
    this.#redactString = redactString
  }

  redact(name: string): string {
    const shown = this.#redactString('', name)
    if (shown === name) return name
    this.#count++
    return this.#count === 1 ? shown : `${shown} ${this.#count}`
  }
}

/** Replaces everything that has the shape of a secret. */
export function redactMember(name: string, text: string): string {
  const shown = redactSpans(text, findMemberSecrets(name, text))
  return isEscapedJson(shown) ? redactJsonText(shown) : shown
}

/** Whether a string is JSON whose escapes could hide a secret. */
export function isEscapedJson(text: string): boolean {
  if (!/^\s*[[{]/.test(text) || !text.includes('\\u00')) return false
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/**
 * Redacts JSON text, which must be valid. Changes only the strings that contain a secret. Members of the outermost
 * object that are named in `except` are left unchanged.
 */
export function redactJsonText(json: string, except: ReadonlySet<string> = NO_NAMES): string {
  const steps = redactJsonInSteps(json, { except, stepLength: Number.POSITIVE_INFINITY })
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}

/** The fixed cost of a string, in characters. */
const STRING_COST = 100

export interface RedactionOptions {
  readonly except: ReadonlySet<string>
  /** The approximate number of characters per step. */
  readonly stepLength: number
  readonly redactString?: RedactString
}

/** The same in steps, so that other work can run in between. */
export function* redactJsonInSteps(
  json: string,
  { except, stepLength, redactString = redactMember }: RedactionOptions,
): Generator<undefined, string> {
  const names = new UniqueNames(redactString)
  let out = ''
  let copied = 0
  let seen = 0
  let weight = 0
  for (const { start, end, text, role, name, depth } of listJsonStrings(json)) {
    weight += end - seen + STRING_COST
    seen = end
    if (weight > stepLength) {
      weight = 0
      yield
    }
    if (role === 'value' && depth === 1 && except.has(name)) continue
    const isLarge = text.length > stepLength && redactString === redactMember
    let shown: string
    if (role === 'name') shown = names.redact(text)
    else shown = isLarge ? yield* redactLargeString(name, text, stepLength) : redactString(name, text)
    if (shown === text) continue
    out += json.slice(copied, start) + JSON.stringify(shown)
    copied = end
    if (isLarge) yield
  }
  return out + json.slice(copied)
}

function* redactLargeString(name: string, text: string, stepLength: number): Generator<undefined, string> {
  const prefix = namePrefix(name)
  const shown = redactSpans(text, shiftSecrets(prefix, yield* findSecretsInSteps(prefix + text, stepLength)))
  yield
  return isEscapedJson(shown) ? yield* redactJsonInSteps(shown, { except: NO_NAMES, stepLength }) : shown
}

const NO_NAMES: ReadonlySet<string> = new Set()
