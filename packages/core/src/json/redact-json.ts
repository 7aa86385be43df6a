import { type FoundSecret, findSecrets, findSecretsInSteps, redactSpans } from '../find-secrets.ts'
import { jsonTexts } from './json-texts.ts'
import type { Json, JsonObject } from './json-value.ts'

/** Secrets in the text of a member: its name may tell what the text alone does not. */
export function secretsOfMember(name: string, text: string): readonly FoundSecret[] {
  const telling = tellingName(name)
  return behind(telling, findSecrets(telling + text))
}

/** What stands before a text to tell what it is; empty where the name of its member tells nothing. */
const tellingName = (name: string): string => (TELLS.test(name) ? `${name}:` : '')

function behind({ length }: string, found: readonly FoundSecret[]): readonly FoundSecret[] {
  return found
    .filter(({ end }) => end > length)
    .map(({ kind, start, end }) => ({ kind, start: Math.max(0, start - length), end: end - length }))
}

/** A quick look at whether a shape might be announced by such a name. */
const TELLS = /pass|secret|key$|token$|authorization$/i

/** A string of JSON as it may be shown; `name` is that of the member whose value it is, empty if there is none. */
export type ShowText = (name: string, text: string) => string

/** The same value with every secret in its texts and names replaced; the very same where there is none. */
export function redactJson(value: Json): Json {
  return redacted(value, '')
}

function redacted(value: Json, name: string): Json {
  if (typeof value === 'string') return redactMember(name, value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    const items = value.map((item: Json) => redacted(item, ''))
    return items.some((item, at) => item !== value[at]) ? items : value
  }
  return redactedObject(value as JsonObject)
}

function redactedObject(object: JsonObject): JsonObject {
  const names = new FreshNames(redactMember)
  const entries = Object.entries(object) as (readonly [string, Json])[]
  let isChanged = false
  const members = entries.map(([name, value]): readonly [string, Json] => {
    const shown = names.redact(name)
    const item = redacted(value, name)
    isChanged ||= shown !== name || item !== value
    return [shown, item]
  })
  // Defines what it is given: assigning to `__proto__` would not.
  return isChanged ? Object.fromEntries(members) : object
}

/** Names with a secret in them must not become one and the same. */
class FreshNames {
  readonly #show: ShowText
  #count = 0

  constructor(show: ShowText) {
    this.#show = show
  }

  redact(name: string): string {
    const shown = this.#show('', name)
    if (shown === name) return name
    this.#count++
    return this.#count === 1 ? shown : `${shown} ${this.#count}`
  }
}

/** Without what has the shape of a secret. */
export function redactMember(name: string, text: string): string {
  const shown = redactSpans(text, secretsOfMember(name, text))
  return mayHideJson(shown) ? redactJsonText(shown) : shown
}

/** Whether it is JSON within JSON whose escapes could hide something. */
export function mayHideJson(text: string): boolean {
  if (!/^\s*[[{]/.test(text) || !text.includes('\\u00')) return false
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/**
 * The same with proven JSON as text, of which nothing is touched but the texts that hold a secret. Members of the
 * outermost object that are named in `except` are left alone.
 */
export function redactJsonText(json: string, except: ReadonlySet<string> = NO_NAMES): string {
  const steps = redactJsonInSteps(json, { except, length: Number.POSITIVE_INFINITY })
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}

/** A text takes as long as so many characters of it, be it ever so short. */
const WEIGHT_OF_TEXT = 100

export interface RedactionSteps {
  readonly except: ReadonlySet<string>
  /** About so many characters in each step. */
  readonly length: number
  readonly show?: ShowText
}

/** The same, step by step: others may have their turn in between. */
export function* redactJsonInSteps(
  json: string,
  { except, length, show = redactMember }: RedactionSteps,
): Generator<undefined, string> {
  const names = new FreshNames(show)
  let out = ''
  let copied = 0
  let seen = 0
  let weight = 0
  for (const { start, end, text, role, name, depth } of jsonTexts(json)) {
    weight += end - seen + WEIGHT_OF_TEXT
    seen = end
    if (weight > length) {
      weight = 0
      yield
    }
    if (role === 'value' && depth === 1 && except.has(name)) continue
    const isLarge = text.length > length && show === redactMember
    let shown: string
    if (role === 'name') shown = names.redact(text)
    else shown = isLarge ? yield* redactLarge(name, text, length) : show(name, text)
    if (shown === text) continue
    out += json.slice(copied, start) + JSON.stringify(shown)
    copied = end
    if (isLarge) yield
  }
  return out + json.slice(copied)
}

function* redactLarge(name: string, text: string, length: number): Generator<undefined, string> {
  const telling = tellingName(name)
  const shown = redactSpans(text, behind(telling, yield* findSecretsInSteps(telling + text, length)))
  yield
  return mayHideJson(shown) ? yield* redactJsonInSteps(shown, { except: NO_NAMES, length }) : shown
}

const NO_NAMES: ReadonlySet<string> = new Set()
