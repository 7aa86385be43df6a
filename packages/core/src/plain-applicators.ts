import { ACCEPT_ALL, addViolation, type Check, checkSilently, popPath, pushPath, shouldContinue } from './inspection.ts'
import { isJsonObject, type JsonObject } from './json/json.ts'
import { compileAnyOf, compileOneOf } from './plain-alternatives.ts'
import { type CompileSubschema, compileSubschemas } from './plain-part.ts'
import { unknownKeyViolation } from './violation.ts'

/** Makes the check of what a schema says by other schemas, or nothing where one of them is not plain. */
export type Applicator = (schema: JsonObject, compile: CompileSubschema) => Check | undefined

/** By the keywords that they are about. */
export const APPLICATORS: ReadonlyMap<string, Applicator> = new Map([
  ['properties', compileMembers],
  ['additionalProperties', compileMembers],
  ['propertyNames', compileNames],
  ['items', compileItems],
  ['allOf', compileAllOf],
  ['anyOf', compileAnyOf],
  ['oneOf', compileOneOf],
])

function compileMembers(schema: JsonObject, compile: CompileSubschema): Check | undefined {
  const { properties, additionalProperties = true } = schema
  if (properties !== undefined && !isJsonObject(properties)) return undefined
  const known = new Map<string, Check>()
  for (const [name, part] of Object.entries(properties ?? {})) {
    const check = compile(part)
    if (check === undefined) return undefined
    known.set(name, check)
  }
  const others = additionalProperties === false ? rejectUnknown(known) : compile(additionalProperties)
  return others && checkMembers(known, others)
}

export function checkMembers(known: ReadonlyMap<string, Check>, others: Check): Check {
  return (value, inspection) => {
    if (!isJsonObject(value)) return true
    let fits = true
    for (const key of Object.keys(value)) {
      const part = value[key]
      const check = known.get(key) ?? others
      if (part === undefined || check === ACCEPT_ALL) continue
      pushPath(inspection, key)
      const partFits = check(part, inspection)
      popPath(inspection)
      if (partFits) continue
      if (!shouldContinue(inspection)) return false
      fits = false
    }
    return fits
  }
}

export function rejectUnknown(known: ReadonlyMap<string, Check>): Check {
  return (_, { collector }) => {
    collector?.violations.push(unknownKeyViolation([...collector.path], [...known.keys()]))
    return false
  }
}

function compileNames({ propertyNames }: JsonObject, compile: CompileSubschema): Check | undefined {
  const check = compile(propertyNames)
  if (check === undefined || check === ACCEPT_ALL) return check
  return (value, inspection) => {
    if (!isJsonObject(value)) return true
    const isBad = (key: string): boolean => value[key] !== undefined && !checkSilently(check, key, inspection)
    const bad = Object.keys(value).find(isBad)
    if (bad === undefined) return true
    pushPath(inspection, bad)
    addViolation(inspection, { message: 'is not a name that is allowed there' })
    popPath(inspection)
    return false
  }
}

function compileItems({ items: schema }: JsonObject, compile: CompileSubschema): Check | undefined {
  const check = compile(schema)
  if (check === undefined || check === ACCEPT_ALL) return check
  return (value, inspection) => {
    if (!Array.isArray(value)) return true
    let fits = true
    for (let index = 0; index < value.length; index++) {
      pushPath(inspection, index)
      const itemFits = check(value[index], inspection)
      popPath(inspection)
      if (itemFits) continue
      if (!shouldContinue(inspection)) return false
      fits = false
    }
    return fits
  }
}

function compileAllOf({ allOf }: JsonObject, compile: CompileSubschema): Check | undefined {
  const checks = compileSubschemas(allOf, compile)
  return checks && checkAll(checks)
}

/** Every one of these has to hold. */
export function checkAll(checks: readonly Check[]): Check {
  return (value, inspection) => {
    let fits = true
    for (const check of checks) {
      if (check(value, inspection)) continue
      if (!shouldContinue(inspection)) return false
      fits = false
    }
    return fits
  }
}
