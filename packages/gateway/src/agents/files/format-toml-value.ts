import { isJsonList, isJsonObject, type Json } from '@sallyport/core'

/** Formats a value on one line for `codex -c key=value`. Keys are quoted, because a server's name may contain dots. */
export function formatTomlValue(value: Json): string {
  if (typeof value === 'string') return formatTomlString(value)
  if (isJsonList(value)) return `[${value.map(formatTomlValue).join(',')}]`
  if (!isJsonObject(value)) return String(value)
  const members = Object.entries(value).map(
    ([key, member]) => `${formatTomlString(key)}=${formatTomlValue(member ?? '')}`,
  )
  return `{${members.join(',')}}`
}

/** JSON escapes are valid TOML, but TOML also requires DEL to be escaped. */
const formatTomlString = (text: string): string => JSON.stringify(text).replaceAll('\u007F', '\\u007F')
