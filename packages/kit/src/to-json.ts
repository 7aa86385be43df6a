import type { Json } from '@sallyport/core'

/** Readers of results, ours and others', support few more levels than this. */
const MAX_LEVELS = 500

/**
 * Converts the value to JSON: toJSON is called, `undefined` members are left out, NaN becomes null. Throws where
 * JSON.stringify would lose something without an error: a Map, for example, would become {}.
 */
export function toJson(value: unknown): Json {
  const path: string[] = []
  const converted = convert(callToJson(value, '', path), path)
  return converted === undefined ? throwNotJson('undefined', path) : converted
}

function convert(value: unknown, path: string[]): Json | undefined {
  if (value === null || value === undefined || typeof value === 'string' || typeof value === 'boolean')
    return value as Json | undefined
  if (typeof value === 'number') return Number.isFinite(value) ? value + 0 : null
  if (typeof value === 'bigint') return throwNotJson('a BigInt', path, 'Convert it with String() or Number().')
  if (typeof value !== 'object') return throwNotJson(`a ${typeof value}`, path)
  if (path.length > MAX_LEVELS)
    return throwNotJson(`an object that is cyclic or nested deeper than ${MAX_LEVELS} levels`, [])
  if (Array.isArray(value)) return convertArray(value, path)
  if (value instanceof Number || value instanceof String || value instanceof Boolean)
    return convert(value.valueOf(), path)
  assertSerializable(value, path)
  return convertObject(value as Readonly<Record<string, unknown>>, path)
}

function convertArray(list: readonly unknown[], path: string[]): Json {
  const converted: Json[] = []
  for (let index = 0; index < list.length; index++) {
    path.push(`[${index}]`)
    converted.push(convert(callToJson(list[index], String(index), path), path) ?? null)
    path.pop()
  }
  return converted
}

function convertObject(object: Readonly<Record<string, unknown>>, path: string[]): Json {
  const converted: Record<string, Json> = {}
  for (const key of Object.keys(object)) {
    path.push(`.${key}`)
    const value = convert(callToJson(object[key], key, path), path)
    path.pop()
    if (value === undefined) continue
    // An assignment to this name would set the prototype.
    if (key === '__proto__')
      Object.defineProperty(converted, key, { value, enumerable: true, writable: true, configurable: true })
    else converted[key] = value
  }
  return converted
}

/** Calls `toJSON` if the value has it. Bytes and invalid dates throw, since their JSON would be useless. */
function callToJson(value: unknown, key: string, path: readonly string[]): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer || value instanceof SharedArrayBuffer)
    return throwNotJson(
      describeClass(value),
      path,
      'Return bytes as base64, or as an image or audio block in toolResult().',
    )
  if (value instanceof Date && Number.isNaN(value.getTime())) return throwNotJson('an invalid Date', path)
  return 'toJSON' in value && typeof value.toJSON === 'function' ? value.toJSON(key) : value
}

/** Asserts that an object's own enumerable members are all of its data. */
function assertSerializable(value: object, path: readonly string[]): void {
  const hasNone = Object.keys(value).length === 0
  // Its members have symbols as keys, or are not enumerable.
  if (hasNone && Reflect.ownKeys(value).length > 0) return throwNotJson('an object without visible members', path)
  const prototype: unknown = Object.getPrototypeOf(value)
  // A plain object, also from another realm.
  if (prototype === null || Object.getPrototypeOf(prototype) === null) return
  if (value instanceof Error) return throwNotJson(describeClass(value), path, 'Throw it, or return its message.')
  if ('then' in value && typeof value.then === 'function') return throwNotJson(describeClass(value), path, 'Await it.')
  if (Symbol.asyncIterator in value)
    return throwNotJson(
      describeClass(value),
      path,
      'Collect what it yields, and report progress with context.progress().',
    )
  if (Symbol.iterator in value)
    return throwNotJson(describeClass(value), path, 'Use [...it], or Object.fromEntries() for a Map.')
  if (hasNone) throwNotJson(describeClass(value), path, 'It has no members that JSON could represent.')
}

function describeClass(value: object): string {
  const name: unknown = value.constructor?.name
  return typeof name === 'string' && name !== ''
    ? `an object of the class ${name.slice(0, 60)}`
    : `an object without a class`
}

const MAX_SHOWN = 200

function throwNotJson(what: string, path: readonly string[], advice = ''): never {
  const location = path.join('').slice(0, MAX_SHOWN)
  const where = location === '' ? '' : ` at ${location.replace(/^\./, '')}`
  throw new TypeError(
    `A result holds ${what}${where}, which JSON cannot represent.${advice === '' ? '' : ` ${advice}`}`,
  )
}
