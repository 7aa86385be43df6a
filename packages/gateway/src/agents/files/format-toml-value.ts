import { isJsonList, isJsonObject, type Json } from '@sallyport/core'

/** A value on one line, as `codex -c key=value` takes it. Keys are quoted: a server's name may hold dots. */
export function formatTomlValue(value: Json): string {
  if (typeof value === 'string') return formatTomlString(value)
  if (isJsonList(value)) return `[${value.map(formatTomlValue).join(',')}]`
  if (!isJsonObject(value)) return String(value)
  const members = Object.entries(value).map(
    ([key, member]) => `${formatTomlString(key)}=${formatTomlValue(member ?? '')}`,
  )
  return `{${members.join(',')}}`
}

/** JSON's escapes are TOML's, but TOML also wants DEL written out. */
const formatTomlString = (text: string): string => JSON.stringify(text).replaceAll('\u007F', '\\u007F')
