import { findMemberSecrets, isEscapedJson, type Json, type JsonObject, redactJsonText } from '../json/json.ts'
import { cutText } from '../text/visible-text.ts'
import { formatRedaction, redactSpans } from './find-secrets.ts'
import { maskSecrets } from './mask-secrets.ts'

/** How much of a call's arguments its record keeps. */
export type ArgumentDetail = 'none' | 'shape' | 'redacted' | 'full'

export interface RecordedOptions {
  /** What must not be shown besides, as `listSecretForms` gives it. */
  readonly secrets?: readonly string[]
  /** How many bytes it may take when printed, more or less. */
  readonly maxBytes?: number
}

/** The last text may go over it, so that a record of redacted arguments stays around 8 KB. */
const MAX_BYTES = { shape: 6_500, redacted: 6_500, full: 64_000 }
const MAX_TEXT_LENGTH = { redacted: 500, full: 64_000 }
const MAX_DEPTH = { shape: 16, redacted: 16, full: 128 }
const MAX_NAME_LENGTH = 100
/** A secret that begins within what is shown is recognised by this much of it. */
const LOOK_AHEAD = 8_000

const LEFT_OUT = '[left out]'
/** What anything counts for, lest a million of nothing be kept. */
const MIN_BYTES = 8
const FAILED: JsonObject = Object.freeze({ '[redaction failed]': true })

/** The arguments of a call as a record may keep them. What cannot be made harmless is not kept. */
export function toRecordedArguments(
  args: JsonObject,
  how: ArgumentDetail,
  options: RecordedOptions = {},
): Json | undefined {
  if (how === 'none') return undefined
  try {
    return new ArgumentRecorder(how, options).record(args)
  } catch {
    return FAILED
  }
}

class ArgumentRecorder {
  readonly #detail: Exclude<ArgumentDetail, 'none'>
  readonly #secrets: readonly string[]
  #bytesLeft: number

  constructor(how: Exclude<ArgumentDetail, 'none'>, { secrets = [], maxBytes = MAX_BYTES[how] }: RecordedOptions) {
    this.#detail = how
    this.#secrets = secrets
    this.#bytesLeft = maxBytes
  }

  record(args: JsonObject): Json {
    return this.#object(args, 1)
  }

  #value(value: Json, name: string, depth: number): Json {
    if (this.#detail === 'redacted' && isWorthHiding(value, name) && isSecretFieldName(name))
      return this.#spend(typeof value === 'object' ? ALL_REDACTED_BY_NAME : REDACTED_BY_NAME)
    if (typeof value === 'string') return this.#spend(this.#text(value, name))
    if (typeof value !== 'object' || value === null)
      return this.#spend(this.#detail === 'shape' ? typeOf(value) : value)
    this.#bytesLeft -= MIN_BYTES
    if (depth > MAX_DEPTH[this.#detail]) return `[left out: nested deeper than ${MAX_DEPTH[this.#detail]}]`
    return Array.isArray(value) ? this.#list(value, depth) : this.#object(value as JsonObject, depth)
  }

  #list(list: readonly Json[], depth: number): Json {
    const kept: Json[] = []
    for (const item of list) {
      if (this.#bytesLeft <= 0) return [...kept, `[left out: ${list.length - kept.length} more]`]
      kept.push(this.#value(item, '', depth + 1))
    }
    return kept
  }

  #object(object: JsonObject, depth: number): Json {
    // Without a prototype: `__proto__` is a name like any other.
    const kept: Record<string, Json> = Object.create(null)
    const names = Object.keys(object)
    let place = 0
    for (const name of names) {
      if (this.#bytesLeft <= 0) {
        kept[LEFT_OUT] = names.length - place
        break
      }
      const shown = this.#name(name, place++)
      kept[shown] = this.#value(object[name] as Json, name, depth + 1)
    }
    return kept
  }

  /** Names are the caller's words too. One that had to be changed gets a number, lest two become the same. */
  #name(name: string, place: number): string {
    const harmless = this.#redact(name, '')
    const shown =
      harmless === name && name.length <= MAX_NAME_LENGTH ? name : `${cutText(harmless, MAX_NAME_LENGTH)} #${place + 1}`
    this.#spend(shown)
    return shown
  }

  #text(text: string, name: string): string {
    if (this.#detail === 'shape') return `text of ${text.length}`
    const most = Math.min(MAX_TEXT_LENGTH[this.#detail], Math.max(this.#bytesLeft, 0))
    const near = text.length > most ? text.slice(0, most + LOOK_AHEAD) : text
    const harmless = this.#redact(near, name)
    if (harmless.length <= most && near === text) return harmless
    return `${cutText(harmless, most)} [cut: ${text.length} characters in all]`
  }

  #redact(text: string, name: string): string {
    const found = findMemberSecrets(name, text)
    const redacted = found.length === 0 ? text : redactSpans(text, found)
    const inside = isEscapedJson(redacted) ? redactJsonText(redacted) : redacted
    const opened = this.#detail === 'full' ? inside : hideNamedSecrets(inside)
    // Looking for the ends of cut secrets costs more than all the rest, and nothing was cut here.
    return this.#secrets.some((secret) => opened.includes(secret)) ? maskSecrets(opened, this.#secrets) : opened
  }

  #spend<Value extends Json>(value: Value): Value {
    this.#bytesLeft -= typeof value === 'string' ? countJsonBytes(value) + 3 : MIN_BYTES
    return value
  }
}

const REDACTED_BY_NAME = formatRedaction('by its name')
/** A reader has to know that there was more than one value. */
const ALL_REDACTED_BY_NAME = formatRedaction('by its name, with all that is in it')

/** A switch named `auth` tells nothing, nor does a limit named `max_tokens`. */
function isWorthHiding(value: Json, name: string): boolean {
  if (value === null || typeof value === 'boolean') return false
  return typeof value !== 'number' || !/token/i.test(name)
}

const NAMED_SECRET =
  /((?:pass(?:word|wd|phrase)|pwd|secret|api[_-]?key|access[_-]?key|token)["'`\\]{0,4}(?:[ \t]{0,4}(?:=>|:=|[:=])[ \t]{0,4}|(?<=-[\w-]{3,40})[ \t]+)["'`\\]{0,4})(?!\[|(?:string|number|boolean|null|undefined|true|false|none)\b)[^\s"'`\\,;&]+/gi

/** In a record also what does not look like a secret is hidden where a text says that it is one. */
const hideNamedSecrets = (text: string): string =>
  MAY_NAME_SECRET.test(text) ? text.replaceAll(NAMED_SECRET, `$1${REDACTED_BY_NAME}`) : text

/** What stands between a name and its value, or before an option: few texts of a call have any of it. */
const MAY_NAME_SECRET = /[:=-]/

const typeOf = (value: Json): string => (value === null ? 'null' : typeof value)

/** What a text takes as JSON in UTF-8, at most. */
function countJsonBytes(text: string): number {
  let bytes = text.length
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code < 0x20 || (code >= 0xd800 && code < 0xe000)) bytes += 5
    else if (code > 0x7e || code === 0x22 || code === 0x5c) bytes += 2
  }
  return bytes
}

/** Words of a name each of which tells that its value is secret. */
const SECRET_WORDS = new Set([
  ...['password', 'passwords', 'passwd', 'pwd', 'passphrase', 'passcode', 'pin', 'otp', 'secret', 'secrets'],
  ...['token', 'tokens', 'jwt', 'bearer', 'authorization', 'auth', 'cookie', 'cookies', 'credential', 'credentials'],
  ...['apikey', 'apikeys', 'privatekey', 'secretkey', 'accesskey', 'clientsecret', 'authtoken', 'accesstoken'],
])

/** What makes a key a secret one. */
const SECRET_KEY_WORDS = new Set([
  'api',
  'private',
  'secret',
  'access',
  'encryption',
  'signing',
  'account',
  'master',
  'ssh',
])

/** Most names are none, and this tells at once. */
const MAY_BE_SECRET = /pass|pwd|pin|otp|secret|token|jwt|bearer|auth|cookie|credential|key/i

/** Whether the words of a name say that it holds a secret: `apiKey` and `DB_PASSWORD` do, `keyboard` and `author` do not. */
export function isSecretFieldName(name: string): boolean {
  if (!MAY_BE_SECRET.test(name)) return false
  const words = splitName(name)
  return words.some((word, at) => SECRET_WORDS.has(word) || (isKey(word) && SECRET_KEY_WORDS.has(words[at - 1] ?? '')))
}

const isKey = (word: string): boolean => word === 'key' || word === 'keys'

const splitName = (name: string): readonly string[] =>
  name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\d]+/u)
