import { findSecrets, isSecretFieldName, looksRandom } from '@sallyport/core'
import { hasReference } from './found-server.ts'

/** A part of a text that should not be written to a file, and a name for it. */
export interface SecretPart {
  readonly start: number
  readonly end: number
  readonly name: string
}

/** The location of a text in an entry, as far as it shows what the text is. */
export type StringLocation =
  | { readonly kind: 'env' | 'header'; readonly name: string }
  | { readonly kind: 'argument'; readonly before: string | undefined }
  | { readonly kind: 'url' }

const SCHEME = /^(?:Bearer|Basic|Token|ApiKey)\s+/i
const PLAIN_VALUE = /^(?:true|false|yes|no|on|off|none|null|\d{1,5})$/i
const PATH_OR_URL = /^(?:[/~.]|[A-Za-z]:[\\/]|[a-z][a-z+.-]*:\/\/)/
const MIN_RANDOM_LENGTH = 20

/** Finds the secrets in one text of an entry. A text that refers to a variable needs no replacement. */
export function findSecretParts(text: string, location: StringLocation): readonly SecretPart[] {
  if (text === '' || hasReference(text)) return []
  const named = namedParts(text, location)
  // A URL may have a password and a key.
  const further = patternParts(text).filter((one) =>
    named.every(({ start, end }) => one.end <= start || one.start >= end),
  )
  return [...named, ...further].sort((one, other) => one.start - other.start)
}

function namedParts(text: string, location: StringLocation): readonly SecretPart[] {
  if (location.kind === 'url') return urlParts(text)
  if (location.kind === 'argument') return argumentParts(text, location.before)
  return isSecretFieldName(location.name) ? valueParts(text, { start: 0, name: toSecretName(location.name) }) : []
}

/** `--api-key=…`, the argument after `--api-key`, `KEY=…` and `Header: …`. */
function argumentParts(text: string, before: string | undefined): readonly SecretPart[] {
  const flag = /^--?([\w-]+)$/.exec(before ?? '')?.[1]
  if (flag !== undefined && isSecretFieldName(flag) && !text.startsWith('-'))
    return valueParts(text, { start: 0, name: toSecretName(flag) })
  const [head, name] = /^-{0,2}([A-Za-z_][\w-]*)(?:=|:\s*)/.exec(text) ?? []
  if (head === undefined || name === undefined || !isSecretFieldName(name)) return []
  return valueParts(text, { start: head.length, name: toSecretName(name) })
}

interface ValueStart {
  readonly start: number
  readonly name: string
}

/** The value after the scheme of a header; empty if the value is a switch, a number, a path or a URL. */
function valueParts(text: string, { start, name }: ValueStart): readonly SecretPart[] {
  const value = text.slice(start)
  if (value === '' || PLAIN_VALUE.test(value) || PATH_OR_URL.test(value)) return []
  const scheme = SCHEME.exec(value)?.[0].length ?? 0
  return [{ start: start + scheme, end: text.length, name }]
}

const toSecretName = (name: string): string => (/^authorization$/i.test(name) ? 'TOKEN' : name)

/** Values of secret-looking names in the query, and random-looking parts of the query or the path. */
function urlParts(text: string): readonly SecretPart[] {
  const parts: SecretPart[] = []
  const from = /^[a-z]+:\/\/[^/?#]*/i.exec(text)?.[0].length ?? 0
  for (const match of text.slice(from).matchAll(/(?:([?&])([^=&#]*)=)?([^/?&#=]+)/g)) {
    const [whole, , name, value = ''] = match
    const end = from + match.index + whole.length
    const isSecret = name === undefined ? isUnguessable(value) : isSecretFieldName(name) || isUnguessable(value)
    if (isSecret) parts.push({ start: end - value.length, end, name: name ?? 'SECRET' })
  }
  return parts
}

function patternParts(text: string): readonly SecretPart[] {
  const found = findSecrets(text).map(({ start, end, kind }) => ({
    start,
    end,
    name: /^password/.test(kind) ? 'PASSWORD' : 'SECRET',
  }))
  if (found.length > 0) return found
  return isUnguessable(text) && !PATH_OR_URL.test(text) ? [{ start: 0, end: text.length, name: 'SECRET' }] : []
}

const isUnguessable = (text: string): boolean =>
  text.length >= MIN_RANDOM_LENGTH && /^[\w.~+/=-]+$/.test(text) && looksRandom(text)
