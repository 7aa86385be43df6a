import {
  addMembers,
  findMember,
  indentAt,
  isJsonObject,
  type Json,
  type JsonStyle,
  removeMember,
  replaceSpan,
  rootSpan,
  sameJson,
} from '@sallyport/core'

/** Which member of an object is meant, and how it is written where there is none yet. */
export interface JsonStep {
  readonly is: (key: string) => boolean
  readonly key: string
}

/**
 * Sets or removes one member, however deep, and leaves every other byte as it is. The text was proven to be JSON, and
 * everything above the member is an object or not there.
 */
export function editJson(text: string, path: readonly JsonStep[], value: Json | undefined): string {
  let container = rootSpan(text)
  for (const [depth, step] of path.entries()) {
    const member = findMember(text, container.start, step.is)
    if (member === undefined) {
      if (value === undefined) return text
      const nested = path.slice(depth + 1).reduceRight<Json>((inner, { key }) => ({ [key]: inner }), value)
      return addMembers(text, container, { members: [{ key: step.key, value: nested }], style: detectStyle(text) })
    }
    const place = { start: member.value, end: member.end }
    if (depth < path.length - 1) container = place
    else if (value === undefined) return removeMember(text, container, member)
    else if (sameJson(JSON.parse(text.slice(place.start, place.end)) as Json, value)) return text
    else return replaceSpan(text, place, detectStyle(text).print(value, indentAt(text, member.start)))
  }
  return text
}

const MAX_WIDTH = 100

/** Over several lines where the file is; a list stays on one if it fits. */
function detectStyle(text: string): JsonStyle {
  if (!text.includes('\n')) return { print: formatInline, unit: '', fill: (source) => ` ${source} ` }
  const unit = /\n([\t ]+)/.exec(text)?.[1] ?? '  '
  const newline = text.includes('\r\n') ? '\r\n' : '\n'
  return {
    print: (value, indent) => {
      const short = formatInline(value)
      if (Array.isArray(value) && indent.length + short.length <= MAX_WIDTH) return short
      return JSON.stringify(value, undefined, unit).replaceAll('\n', `${newline}${indent}`)
    },
    unit,
    fill: (source, indent) => `${newline}${indent}${unit}${source}${newline}${indent}`,
  }
}

function formatInline(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(formatInline).join(', ')}]`
  if (!isJsonObject(value)) return JSON.stringify(value)
  const members = Object.entries(value).map(
    ([key, member]) => `${JSON.stringify(key)}: ${formatInline(member ?? null)}`,
  )
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`
}
