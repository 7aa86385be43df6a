import { isJsonObject, type Json, type JsonObject } from '@sallyport/core'

export interface NewServer {
  readonly id: string
  readonly entry: JsonObject
  /** Lines of a comment before it. */
  readonly comment: readonly string[]
}

const WIDTH = 100

/** What means a text and nothing else in YAML 1.1 and 1.2, in block and, without braces, in flow style. */
const PLAIN_TEXT = /^(?:[A-Za-z_./~]|\$(?=\{))(?:[\w./@~+=${}-]|:(?=[\w/]))*$/
const PLAIN_IN_FLOW = /^[A-Za-z_./][\w./@~+=-]*$/
const OTHER_MEANING = /^(?:y|n|yes|no|on|off|true|false|null|~|\.|\.\.|\.(?:inf|nan)|[-+.\d][\d.,_eExXoO:+-]*)$/i

/** A server as a person would write it, for one who reads it: one key on each line, short lists on one. */
export function entryLines({ id, entry, comment }: NewServer, step: string): readonly string[] {
  const lines = Object.entries(entry).flatMap(([key, value]) => fieldLines(key, value, step))
  return [...comment.map((line) => `# ${line}`), `${scalarText(id)}:`, ...lines.map((line) => step + line)]
}

function fieldLines(key: string, value: Json | undefined, step: string): readonly string[] {
  const name = scalarText(key)
  if (Array.isArray(value)) {
    const line = `${name}: ${flowText(value)}`
    if (line.length <= WIDTH) return [line]
    return [`${name}:`, ...value.map((item) => `${step}- ${itemText(item)}`)]
  }
  if (!isJsonObject(value)) return [`${name}: ${itemText(value)}`]
  const members = Object.entries(value)
  if (members.length === 0) return [`${name}: {}`]
  return [`${name}:`, ...members.flatMap(([one, inner]) => fieldLines(one, inner, step).map((line) => step + line))]
}

const flowText = (items: readonly Json[]): string =>
  `[${items.map((item) => (typeof item === 'string' && !isPlain(item, PLAIN_IN_FLOW) ? quoted(item) : itemText(item))).join(', ')}]`

const itemText = (value: Json | undefined): string =>
  typeof value === 'string' ? scalarText(value) : JSON.stringify(value ?? null)

const scalarText = (text: string): string => (isPlain(text, PLAIN_TEXT) ? text : quoted(text))

const isPlain = (text: string, pattern: RegExp): boolean =>
  pattern.test(text) && !OTHER_MEANING.test(text) && !text.endsWith(':')

/** In double quotes, in printable ASCII: every YAML reads it alike, and JSON too. */
function quoted(text: string): string {
  return JSON.stringify(text).replaceAll(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
