import { isJsonObject, type Json } from './json-value.ts'

/** Takes a value: the same where it is allowed, a repaired one where parts of it are not, else undefined. */
export type FieldSanitizer = (value: Json) => Json | undefined

const acceptIf =
  (isAllowed: (value: Json) => boolean): FieldSanitizer =>
  (value) =>
    isAllowed(value) ? value : undefined

export const aString: FieldSanitizer = acceptIf((value) => typeof value === 'string')
export const aBoolean: FieldSanitizer = acceptIf((value) => typeof value === 'boolean')
/** Readers make Infinity of a number that is too large. */
export const aNumber: FieldSanitizer = acceptIf(Number.isFinite)
export const anInteger: FieldSanitizer = acceptIf(Number.isSafeInteger)
export const anObject: FieldSanitizer = acceptIf(isJsonObject)

export const oneOf = (...words: readonly Json[]): FieldSanitizer => acceptIf((value) => words.includes(value))

export const between = (min: number, max: number): FieldSanitizer =>
  acceptIf((value) => typeof value === 'number' && value >= min && value <= max)

/** A list without the items that are not allowed. */
export function listOf(check: FieldSanitizer, max: number = Number.POSITIVE_INFINITY): FieldSanitizer {
  return (value) => {
    if (!Array.isArray(value)) return undefined
    const items = value.flatMap((item: Json) => check(item) ?? []).slice(0, max)
    const isSame = items.length === value.length && items.every((item, at) => item === value[at])
    return isSame ? value : items
  }
}

export interface ObjectFields {
  readonly [name: string]: FieldSanitizer
}

/** An object without the fields that are not allowed, or nothing where a required one is among them. Others pass. */
export function objectOf(fields: ObjectFields, required: readonly string[] = []): FieldSanitizer {
  const checks = Object.entries(fields)
  return (value) => {
    if (!isJsonObject(value)) return undefined
    let repaired: Record<string, Json | undefined> | undefined
    for (const [name, check] of checks) {
      const had = Object.hasOwn(value, name) ? value[name] : undefined
      if (had === undefined) continue
      const has = check(had)
      if (has === had) continue
      repaired ??= { ...value }
      if (has === undefined) delete repaired[name]
      else repaired[name] = has
    }
    const result = repaired ?? value
    return required.every((name) => Object.hasOwn(result, name)) ? result : undefined
  }
}

const DATE_TIME =
  /^(\d{4})-(\d\d)-(\d\d)T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/

/** A moment with its time zone, as clients check it. */
export const aDateTime: FieldSanitizer = acceptIf((value) => {
  const [, year, month, day] = (typeof value === 'string' && DATE_TIME.exec(value)) || []
  if (year === undefined) return false
  const date = new Date(`${year}-${month}-${day}T00:00:00Z`)
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(`${year}-${month}-${day}`)
})
