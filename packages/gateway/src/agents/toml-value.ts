import { isJsonList, isJsonObject, type Json } from '@sallyport/core'

/** A value on one line, as `codex -c key=value` takes it. Keys are quoted: a server's name may hold dots. */
export function tomlValue(value: Json): string {
  if (typeof value === 'string') return tomlText(value)
  if (isJsonList(value)) return `[${value.map(tomlValue).join(',')}]`
  if (!isJsonObject(value)) return String(value)
  const members = Object.entries(value).map(([key, member]) => `${tomlText(key)}=${tomlValue(member ?? '')}`)
  return `{${members.join(',')}}`
}

/** JSON's escapes are TOML's, but TOML also wants DEL written out. */
const tomlText = (text: string): string => JSON.stringify(text).replaceAll('\u007F', '\\u007F')
