import { ANYTHING, type Check, enter, leave, looksFurther, note, quietly } from './inspection.ts'
import { isJsonObject, type JsonObject } from './json/json.ts'
import { oneOf, someOf } from './plain-alternatives.ts'
import { type CompilePart, compileParts } from './plain-part.ts'
import { unknownKey } from './violation.ts'

/** Makes the check of what a schema says by other schemas, or nothing where one of them is not plain. */
export type Applicator = (schema: JsonObject, compile: CompilePart) => Check | undefined

/** By the keywords that they are about. */
export const APPLICATORS: ReadonlyMap<string, Applicator> = new Map([
  ['properties', members],
  ['additionalProperties', members],
  ['propertyNames', names],
  ['items', items],
  ['allOf', everyOf],
  ['anyOf', someOf],
  ['oneOf', oneOf],
])

function members(schema: JsonObject, compile: CompilePart): Check | undefined {
  const { properties, additionalProperties = true } = schema
  if (properties !== undefined && !isJsonObject(properties)) return undefined
  const known = new Map<string, Check>()
  for (const [name, part] of Object.entries(properties ?? {})) {
    const check = compile(part)
    if (check === undefined) return undefined
    known.set(name, check)
  }
  const others = additionalProperties === false ? refusesUnknown(known) : compile(additionalProperties)
  return others && membersCheck(known, others)
}

export function membersCheck(known: ReadonlyMap<string, Check>, others: Check): Check {
  return (value, inspection) => {
    if (!isJsonObject(value)) return true
    let fits = true
    for (const key of Object.keys(value)) {
      const part = value[key]
      const check = known.get(key) ?? others
      if (part === undefined || check === ANYTHING) continue
      enter(inspection, key)
      const partFits = check(part, inspection)
      leave(inspection)
      if (partFits) continue
      if (!looksFurther(inspection)) return false
      fits = false
    }
    return fits
  }
}

export function refusesUnknown(known: ReadonlyMap<string, Check>): Check {
  return (_, { notes }) => {
    notes?.found.push(unknownKey([...notes.path], [...known.keys()]))
    return false
  }
}

function names({ propertyNames }: JsonObject, compile: CompilePart): Check | undefined {
  const check = compile(propertyNames)
  if (check === undefined || check === ANYTHING) return check
  return (value, inspection) => {
    if (!isJsonObject(value)) return true
    const isBad = (key: string): boolean => value[key] !== undefined && !quietly(check, key, inspection)
    const bad = Object.keys(value).find(isBad)
    if (bad === undefined) return true
    enter(inspection, bad)
    note(inspection, { says: 'is not a name that is allowed there' })
    leave(inspection)
    return false
  }
}

function items({ items: schema }: JsonObject, compile: CompilePart): Check | undefined {
  const check = compile(schema)
  if (check === undefined || check === ANYTHING) return check
  return (value, inspection) => {
    if (!Array.isArray(value)) return true
    let fits = true
    for (let index = 0; index < value.length; index++) {
      enter(inspection, index)
      const itemFits = check(value[index], inspection)
      leave(inspection)
      if (itemFits) continue
      if (!looksFurther(inspection)) return false
      fits = false
    }
    return fits
  }
}

function everyOf({ allOf }: JsonObject, compile: CompilePart): Check | undefined {
  const checks = compileParts(allOf, compile)
  return checks && allCheck(checks)
}

/** Every one of these has to hold. */
export function allCheck(checks: readonly Check[]): Check {
  return (value, inspection) => {
    let fits = true
    for (const check of checks) {
      if (check(value, inspection)) continue
      if (!looksFurther(inspection)) return false
      fits = false
    }
    return fits
  }
}
