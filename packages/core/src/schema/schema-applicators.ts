import { isJsonList, isJsonObject, type Json, type JsonObject } from '../json/json.ts'
import { type CompileSubschema, compileSubschemas } from './subschemas.ts'
import {
  ACCEPT_ALL,
  addDiscriminatorMismatch,
  addViolation,
  type Check,
  checkSilently,
  popPath,
  pushPath,
  shouldContinue,
  type ValidationRun,
} from './validation-run.ts'
import { formatOptions, formatTypes, unknownKeyViolation, type Violation } from './violation.ts'

/** At least one of the schemas has to fit. */
function compileAnyOf({ anyOf }: JsonObject, compile: CompileSubschema): Check | undefined {
  const checks = compileSubschemas(anyOf, compile)
  if (!isJsonList(anyOf) || checks === undefined) return undefined
  const explain = createExplanation(anyOf, checks)
  return (value, inspection) => {
    for (const check of checks) if (checkSilently(check, value, inspection)) return true
    return explain(value, inspection)
  }
}

/** Exactly one of the schemas has to fit. */
function compileOneOf({ oneOf: alternatives }: JsonObject, compile: CompileSubschema): Check | undefined {
  const checks = compileSubschemas(alternatives, compile)
  if (!isJsonList(alternatives) || checks === undefined) return undefined
  const explain = createExplanation(alternatives, checks)
  return (value, inspection) => {
    let fitting = 0
    for (const check of checks) if (checkSilently(check, value, inspection) && ++fitting > 1) break
    if (fitting === 1) return true
    return fitting === 0
      ? explain(value, inspection)
      : addViolation(inspection, { message: 'must fit exactly one of its alternatives and fits several' })
  }
}

/** Says why none of the alternatives fits: what is wrong for the nearest one of the right kind, else which kinds there are. */
function createExplanation(schemas: readonly Json[], checks: readonly Check[]): Check {
  return (value, inspection) => {
    const { collector } = inspection
    if (collector === undefined) return false
    const kinds = describeKinds(schemas)
    const attempts = checks.map((check) => collectViolations(check, value, inspection))
    const [nearest] = attempts
      .filter((found) => isOfKind(found, collector.path))
      .sort((a, b) => distance(a) - distance(b))
    if (nearest !== undefined) collector.violations.push(...nearest)
    else if (kinds !== undefined) addDiscriminatorMismatch(inspection, kinds, value)
    else addViolation(inspection, { message: `fits none of its ${checks.length} alternatives`, isDiscriminator: true })
    return false
  }
}

/** What one alternative finds wrong. It is paid for like everything else. */
function collectViolations(check: Check, value: Json, inspection: ValidationRun): readonly Violation[] {
  const { collector } = inspection
  const violations: Violation[] = []
  inspection.collector = { path: [...(collector?.path ?? [])], violations }
  check(value, inspection)
  inspection.collector = collector
  return violations
}

/** Something is known, and it is not that the value as a whole is something else. */
const isOfKind = (found: readonly Violation[], { length }: readonly unknown[]): boolean =>
  found.length > 0 && !found.some(({ path, isDiscriminator }) => isDiscriminator === true && path.length === length)

const distance = (found: readonly Violation[]): number =>
  found.length + 10 * found.filter(({ isDiscriminator }) => isDiscriminator === true).length

/** Every constant, or every type, that the schemas name; nothing where one of them names neither. */
function describeKinds(schemas: readonly Json[]): string | undefined {
  const options = schemas.map(optionsOf)
  if (options.every((list) => list !== undefined)) return formatOptions(options.flat())
  const types = schemas.map(typesOf)
  return types.every((list) => list !== undefined) ? formatTypes([...new Set(types.flat())]) : undefined
}

function optionsOf(schema: Json): readonly Json[] | undefined {
  if (!isJsonObject(schema)) return undefined
  if (schema.const !== undefined) return [schema.const]
  return isJsonList(schema.enum) ? schema.enum : undefined
}

function typesOf(schema: Json): readonly string[] | undefined {
  if (!isJsonObject(schema) || schema.type === undefined) return undefined
  return isJsonList(schema.type) ? schema.type.map(String) : [String(schema.type)]
}

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
