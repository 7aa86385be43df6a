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

/** At least one of the schemas has to match. */
function compileAnyOf({ anyOf }: JsonObject, compile: CompileSubschema): Check | undefined {
  const checks = compileSubschemas(anyOf, compile)
  if (!isJsonList(anyOf) || checks === undefined) return undefined
  const explain = createExplanation(anyOf, checks)
  return (value, run) => {
    for (const check of checks) if (checkSilently(check, value, run)) return true
    return explain(value, run)
  }
}

/** Exactly one of the schemas has to match. */
function compileOneOf({ oneOf: alternatives }: JsonObject, compile: CompileSubschema): Check | undefined {
  const checks = compileSubschemas(alternatives, compile)
  if (!isJsonList(alternatives) || checks === undefined) return undefined
  const explain = createExplanation(alternatives, checks)
  return (value, run) => {
    let fitting = 0
    for (const check of checks) if (checkSilently(check, value, run) && ++fitting > 1) break
    if (fitting === 1) return true
    return fitting === 0
      ? explain(value, run)
      : addViolation(run, { message: 'must fit exactly one of its alternatives and fits several' })
  }
}

/** Explains why no alternative matches: by the violations of the nearest one, or by listing the possible kinds. */
function createExplanation(schemas: readonly Json[], checks: readonly Check[]): Check {
  return (value, run) => {
    const { collector } = run
    if (collector === undefined) return false
    const kinds = describeKinds(schemas)
    const attempts = checks.map((check) => collectViolations(check, value, run))
    const [nearest] = attempts
      .filter((found) => isOfKind(found, collector.path))
      .sort((a, b) => distance(a) - distance(b))
    if (nearest !== undefined) collector.violations.push(...nearest)
    else if (kinds !== undefined) addDiscriminatorMismatch(run, kinds, value)
    else addViolation(run, { message: `fits none of its ${checks.length} alternatives`, isDiscriminator: true })
    return false
  }
}

/** The violations of one alternative. They cost fuel like everything else. */
function collectViolations(check: Check, value: Json, run: ValidationRun): readonly Violation[] {
  const { collector } = run
  const violations: Violation[] = []
  run.collector = { path: [...(collector?.path ?? [])], violations }
  check(value, run)
  run.collector = collector
  return violations
}

/** There are violations, and none says that the whole value is of another kind. */
const isOfKind = (found: readonly Violation[], { length }: readonly unknown[]): boolean =>
  found.length > 0 && !found.some(({ path, isDiscriminator }) => isDiscriminator === true && path.length === length)

const distance = (found: readonly Violation[]): number =>
  found.length + 10 * found.filter(({ isDiscriminator }) => isDiscriminator === true).length

/** All constants, or all types, of the schemas; `undefined` if one of them names neither. */
function describeKinds(schemas: readonly Json[]): string | undefined {
  const options = schemas.map(listOptions)
  if (options.every((list) => list !== undefined)) return formatOptions(options.flat())
  const types = schemas.map(listTypes)
  return types.every((list) => list !== undefined) ? formatTypes([...new Set(types.flat())]) : undefined
}

function listOptions(schema: Json): readonly Json[] | undefined {
  if (!isJsonObject(schema)) return undefined
  if (schema.const !== undefined) return [schema.const]
  return isJsonList(schema.enum) ? schema.enum : undefined
}

function listTypes(schema: Json): readonly string[] | undefined {
  if (!isJsonObject(schema) || schema.type === undefined) return undefined
  return isJsonList(schema.type) ? schema.type.map(String) : [String(schema.type)]
}

/** Compiles a keyword that contains schemas; `undefined` if one of them is not supported. */
export type Applicator = (schema: JsonObject, compile: CompileSubschema) => Check | undefined

/** Applicators by keyword. */
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
  return (value, run) => {
    if (!isJsonObject(value)) return true
    let fits = true
    for (const key of Object.keys(value)) {
      const part = value[key]
      const check = known.get(key) ?? others
      if (part === undefined || check === ACCEPT_ALL) continue
      pushPath(run, key)
      const partFits = check(part, run)
      popPath(run)
      if (partFits) continue
      if (!shouldContinue(run)) return false
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
  return (value, run) => {
    if (!isJsonObject(value)) return true
    const isBad = (key: string): boolean => value[key] !== undefined && !checkSilently(check, key, run)
    const bad = Object.keys(value).find(isBad)
    if (bad === undefined) return true
    pushPath(run, bad)
    addViolation(run, { message: 'is not a name that is allowed there' })
    popPath(run)
    return false
  }
}

function compileItems({ items: schema }: JsonObject, compile: CompileSubschema): Check | undefined {
  const check = compile(schema)
  if (check === undefined || check === ACCEPT_ALL) return check
  return (value, run) => {
    if (!Array.isArray(value)) return true
    let fits = true
    for (let index = 0; index < value.length; index++) {
      pushPath(run, index)
      const itemFits = check(value[index], run)
      popPath(run)
      if (itemFits) continue
      if (!shouldContinue(run)) return false
      fits = false
    }
    return fits
  }
}

function compileAllOf({ allOf }: JsonObject, compile: CompileSubschema): Check | undefined {
  const checks = compileSubschemas(allOf, compile)
  return checks && checkAll(checks)
}

/** All of these checks have to pass. */
export function checkAll(checks: readonly Check[]): Check {
  return (value, run) => {
    let fits = true
    for (const check of checks) {
      if (check(value, run)) continue
      if (!shouldContinue(run)) return false
      fits = false
    }
    return fits
  }
}
