import { addDiscriminatorMismatch, addViolation, type Check, checkSilently, type ValidationRun } from './inspection.ts'
import { isJsonList, isJsonObject, type Json, type JsonObject } from './json/json.ts'
import { type CompileSubschema, compileSubschemas } from './plain-part.ts'
import { formatOptions, formatTypes, type Violation } from './violation.ts'

/** At least one of the schemas has to fit. */
export function compileAnyOf({ anyOf }: JsonObject, compile: CompileSubschema): Check | undefined {
  const checks = compileSubschemas(anyOf, compile)
  if (!isJsonList(anyOf) || checks === undefined) return undefined
  const explain = createExplanation(anyOf, checks)
  return (value, inspection) => {
    for (const check of checks) if (checkSilently(check, value, inspection)) return true
    return explain(value, inspection)
  }
}

/** Exactly one of the schemas has to fit. */
export function compileOneOf({ oneOf: alternatives }: JsonObject, compile: CompileSubschema): Check | undefined {
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
