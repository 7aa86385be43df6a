import { isJsonObject, type Json, type JsonObject } from '@sallyport/core'

export interface NewServer {
  readonly id: string
  readonly entry: JsonObject
  /** Lines of a comment before it. */
  readonly comment: readonly string[]
}

const MAX_WIDTH = 100

/** What means a text and nothing else in YAML 1.1 and 1.2, in block and, without braces, in flow style. */
const PLAIN_TEXT = /^(?:[A-Za-z_./~]|\$(?=\{))(?:[\w./@~+=${}-]|:(?=[\w/]))*$/
const PLAIN_IN_FLOW = /^[A-Za-z_./][\w./@~+=-]*$/
const AMBIGUOUS_SCALAR = /^(?:y|n|yes|no|on|off|true|false|null|~|\.|\.\.|\.(?:inf|nan)|[-+.\d][\d.,_eExXoO:+-]*)$/i

/** A server as a person would write it, for one who reads it: one key on each line, short lists on one. */
export function formatServer({ id, entry, comment }: NewServer, step: string): readonly string[] {
  const lines = Object.entries(entry).flatMap(([key, value]) => formatField(key, value, step))
  return [...comment.map((line) => `# ${line}`), `${formatScalar(id)}:`, ...lines.map((line) => step + line)]
}

function formatField(key: string, value: Json | undefined, step: string): readonly string[] {
  const name = formatScalar(key)
  if (Array.isArray(value)) {
    const line = `${name}: ${formatFlowList(value)}`
    if (line.length <= MAX_WIDTH) return [line]
    return [`${name}:`, ...value.map((item) => `${step}- ${formatItem(item)}`)]
  }
  if (!isJsonObject(value)) return [`${name}: ${formatItem(value)}`]
  const members = Object.entries(value)
  if (members.length === 0) return [`${name}: {}`]
  return [`${name}:`, ...members.flatMap(([one, inner]) => formatField(one, inner, step).map((line) => step + line))]
}

const formatFlowList = (items: readonly Json[]): string =>
  `[${items.map((item) => (typeof item === 'string' && !isPlain(item, PLAIN_IN_FLOW) ? quoteScalar(item) : formatItem(item))).join(', ')}]`

const formatItem = (value: Json | undefined): string =>
  typeof value === 'string' ? formatScalar(value) : JSON.stringify(value ?? null)

const formatScalar = (text: string): string => (isPlain(text, PLAIN_TEXT) ? text : quoteScalar(text))

const isPlain = (text: string, pattern: RegExp): boolean =>
  pattern.test(text) && !AMBIGUOUS_SCALAR.test(text) && !text.endsWith(':')

/** In double quotes, in printable ASCII: every YAML reads it alike, and JSON too. */
function quoteScalar(text: string): string {
  return JSON.stringify(text).replaceAll(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
