import { isJsonObject, type Json, SallyportError } from '@sallyport/core'

export function readStringMap(value: Json | undefined, where: string): Readonly<Record<string, string>> {
  if (value === undefined) return {}
  if (!isJsonObject(value)) throw invalidEntry(`${where} is no mapping`)
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, readString(item, `${where}.${key}`)]))
}

export function readStringList(value: Json | undefined, where: string): readonly string[] {
  if (value === undefined) return []
  if (!Array.isArray(value)) throw invalidEntry(`${where} is no list`)
  return value.map((item: Json, index) => readString(item, `${where}[${index}]`))
}

export function readString(value: Json | undefined, where: string): string {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return String(value)
  throw invalidEntry(`${where} is no text`)
}

export function readBoolean(value: Json, where: string): boolean {
  if (value === true || value === 'true') return true
  if (value === false || value === 'false') return false
  throw invalidEntry(`${where} is neither true nor false`)
}

export const invalidEntry = (message: string): SallyportError =>
  new SallyportError('CONFIG_INVALID', `${message}.`, { hint: 'See docs/kit/client.md for what a client reads.' })
