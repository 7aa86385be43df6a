import { findMemberSecrets, isEscapedJson, type Json, type JsonObject, redactJsonText } from '../json/json.ts'
import { cutText } from '../text/visible-text.ts'
import { formatRedaction, redactSpans } from './find-secrets.ts'
import { maskSecrets } from './mask-secrets.ts'

/** How much of a call's arguments the record contains. */
export type ArgumentDetail = 'none' | 'shape' | 'redacted' | 'full'

export interface RecordedOptions {
  /** Additional secrets, from `listSecretForms`. */
  readonly secrets?: readonly string[]
  /** The approximate maximum size in bytes when printed. */
  readonly maxBytes?: number
}

/** The last string may exceed the limit, so a record of redacted arguments stays around 8 KB. */
const MAX_BYTES = { shape: 6_500, redacted: 6_500, full: 64_000 }
const MAX_TEXT_LENGTH = { redacted: 500, full: 64_000 }
const MAX_DEPTH = { shape: 16, redacted: 16, full: 128 }
const MAX_NAME_LENGTH = 100
/** How much is read beyond the shown part, to recognize a secret that begins in the shown part. */
const LOOK_AHEAD = 8_000

const LEFT_OUT = '[left out]'
/** The minimum cost of a value, so that a million empty ones are not recorded. */
const MIN_BYTES = 8
const FAILED: JsonObject = Object.freeze({ '[redaction failed]': true })

/** The arguments of a call for its record. If they cannot be redacted, they are not recorded. */
export function toRecordedArguments(
  args: JsonObject,
  detail: ArgumentDetail,
  options: RecordedOptions = {},
): Json | undefined {
  if (detail === 'none') return undefined
  try {
    return new ArgumentRecorder(detail, options).record(args)
  } catch {
    return FAILED
  }
}

class ArgumentRecorder {
  readonly #detail: Exclude<ArgumentDetail, 'none'>
  readonly #secrets: readonly string[]
  #bytesLeft: number

  constructor(
    detail: Exclude<ArgumentDetail, 'none'>,
    { secrets = [], maxBytes = MAX_BYTES[detail] }: RecordedOptions,
  ) {
    this.#detail = detail
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
    const recorded: Json[] = []
    for (const item of list) {
      if (this.#bytesLeft <= 0) return [...recorded, `[left out: ${list.length - recorded.length} more]`]
      recorded.push(this.#value(item, '', depth + 1))
    }
    return recorded
  }

  #object(object: JsonObject, depth: number): Json {
    const names = Object.keys(object)
    // Without a prototype, `__proto__` is a name like any other. Such an object is slow to print, and hardly ever needed.
    const recorded: Record<string, Json> = names.includes('__proto__') ? Object.create(null) : {}
    let position = 0
    for (const name of names) {
      if (this.#bytesLeft <= 0) {
        recorded[LEFT_OUT] = names.length - position
        break
      }
      const shown = this.#name(name, position++)
      recorded[shown] = this.#value(object[name] as Json, name, depth + 1)
    }
    return recorded
  }

  /** Keys come from the caller too, so they are redacted. A changed key gets a number, so that keys stay different. */
  #name(name: string, position: number): string {
    const redacted = this.#redact(name, '')
    const shown =
      redacted === name && name.length <= MAX_NAME_LENGTH
        ? name
        : `${cutText(redacted, MAX_NAME_LENGTH)} #${position + 1}`
    this.#spend(shown)
    return shown
  }

  #text(text: string, name: string): string {
    if (this.#detail === 'shape') return `text of ${text.length}`
    const maxLength = Math.min(MAX_TEXT_LENGTH[this.#detail], Math.max(this.#bytesLeft, 0))
    const start = text.length > maxLength ? text.slice(0, maxLength + LOOK_AHEAD) : text
    const redacted = this.#redact(start, name)
    if (redacted.length <= maxLength && start === text) return redacted
    return `${cutText(redacted, maxLength)} [cut: ${text.length} characters in all]`
  }

  #redact(text: string, name: string): string {
    const found = findMemberSecrets(name, text)
    const redacted = found.length === 0 ? text : redactSpans(text, found)
    const inside = isEscapedJson(redacted) ? redactJsonText(redacted) : redacted
    const opened = this.#detail === 'full' ? inside : hideNamedSecrets(inside)
    // Masking is expensive because it also looks for truncated secrets. Nothing was truncated here.
    return this.#secrets.some((secret) => opened.includes(secret)) ? maskSecrets(opened, this.#secrets) : opened
  }

  #spend<Value extends Json>(value: Value): Value {
    this.#bytesLeft -= typeof value === 'string' ? countJsonBytes(value) + 3 : MIN_BYTES
    return value
  }
}

const REDACTED_BY_NAME = formatRedaction('by its name')
/** Tells the reader that there was more than one value. */
const ALL_REDACTED_BY_NAME = formatRedaction('by its name, with all that is in it')

/** A flag named `auth` or a limit named `max_tokens` is not a secret. */
function isWorthHiding(value: Json, name: string): boolean {
  if (value === null || typeof value === 'boolean') return false
  return typeof value !== 'number' || !/token/i.test(name)
}

const NAMED_SECRET =
  /((?:pass(?:word|wd|phrase)|pwd|secret|api[_-]?key|access[_-]?key|token)["'`\\]{0,4}(?:[ \t]{0,4}(?:=>|:=|[:=])[ \t]{0,4}|(?<=-[\w-]{3,40})[ \t]+)["'`\\]{0,4})(?!\[|(?:string|number|boolean|null|undefined|true|false|none)\b)[^\s"'`\\,;&]+/gi

/** A record also hides values that do not look like secrets, if the text names them as such. */
const hideNamedSecrets = (text: string): string =>
  MAY_NAME_SECRET.test(text) ? text.replaceAll(NAMED_SECRET, `$1${REDACTED_BY_NAME}`) : text

/** Characters between a name and its value, or before an option: few strings have them. */
const MAY_NAME_SECRET = /[:=-]/

const typeOf = (value: Json): string => (value === null ? 'null' : typeof value)

/** The maximum size of a string as JSON in UTF-8. */
function countJsonBytes(text: string): number {
  let bytes = text.length
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code < 0x20 || (code >= 0xd800 && code < 0xe000)) bytes += 5
    else if (code > 0x7e || code === 0x22 || code === 0x5c) bytes += 2
  }
  return bytes
}

/** Words that make a field secret. */
const SECRET_WORDS = new Set([
  ...['password', 'passwords', 'passwd', 'pwd', 'passphrase', 'passcode', 'pin', 'otp', 'secret', 'secrets'],
  ...['token', 'tokens', 'jwt', 'bearer', 'authorization', 'auth', 'cookie', 'cookies', 'credential', 'credentials'],
  ...['apikey', 'apikeys', 'privatekey', 'secretkey', 'accesskey', 'clientsecret', 'authtoken', 'accesstoken'],
])

/** Words that make a field secret if `key` follows. */
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

/** A quick check that excludes most names. */
const MAY_BE_SECRET = /pass|pwd|pin|otp|secret|token|jwt|bearer|auth|cookie|credential|key/i

/** Whether a name says that its value is secret: `apiKey` and `DB_PASSWORD` do, `keyboard` and `author` do not. */
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
