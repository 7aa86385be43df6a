import { type Check, type Inspection, note, quietly, wrongMark } from './inspection.ts'
import { isJsonList, isJsonObject, type Json, type JsonObject } from './json/json.ts'
import { type CompilePart, compileParts } from './plain-part.ts'
import { optionWords, typeWords, type Violation } from './violation.ts'

/** At least one of the schemas has to fit. */
export function someOf({ anyOf }: JsonObject, compile: CompilePart): Check | undefined {
  const checks = compileParts(anyOf, compile)
  if (!isJsonList(anyOf) || checks === undefined) return undefined
  const explain = explainNone(anyOf, checks)
  return (value, inspection) => {
    for (const check of checks) if (quietly(check, value, inspection)) return true
    return explain(value, inspection)
  }
}

/** Exactly one of the schemas has to fit. */
export function oneOf({ oneOf: alternatives }: JsonObject, compile: CompilePart): Check | undefined {
  const checks = compileParts(alternatives, compile)
  if (!isJsonList(alternatives) || checks === undefined) return undefined
  const explain = explainNone(alternatives, checks)
  return (value, inspection) => {
    let fitting = 0
    for (const check of checks) if (quietly(check, value, inspection) && ++fitting > 1) break
    if (fitting === 1) return true
    return fitting === 0
      ? explain(value, inspection)
      : note(inspection, { says: 'must fit exactly one of its alternatives and fits several' })
  }
}

/** Says why none of the alternatives fits: what is wrong for the nearest one of the right kind, else which kinds there are. */
function explainNone(schemas: readonly Json[], checks: readonly Check[]): Check {
  return (value, inspection) => {
    const { notes } = inspection
    if (notes === undefined) return false
    const kinds = kindsOf(schemas)
    const attempts = checks.map((check) => attempt(check, value, inspection))
    const [nearest] = attempts.filter((found) => isOfKind(found, notes.path)).sort((a, b) => farness(a) - farness(b))
    if (nearest !== undefined) notes.found.push(...nearest)
    else if (kinds !== undefined) wrongMark(inspection, kinds, value)
    else note(inspection, { says: `fits none of its ${checks.length} alternatives`, isMark: true })
    return false
  }
}

/** What one alternative finds wrong. It is paid for like everything else. */
function attempt(check: Check, value: Json, inspection: Inspection): readonly Violation[] {
  const { notes } = inspection
  const found: Violation[] = []
  inspection.notes = { path: [...(notes?.path ?? [])], found }
  check(value, inspection)
  inspection.notes = notes
  return found
}

/** Something is known, and it is not that the value as a whole is something else. */
const isOfKind = (found: readonly Violation[], { length }: readonly unknown[]): boolean =>
  found.length > 0 && !found.some(({ path, isMark }) => isMark === true && path.length === length)

const farness = (found: readonly Violation[]): number =>
  found.length + 10 * found.filter(({ isMark }) => isMark === true).length

/** Every constant, or every type, that the schemas name; nothing where one of them names neither. */
function kindsOf(schemas: readonly Json[]): string | undefined {
  const options = schemas.map(optionsOf)
  if (options.every((list) => list !== undefined)) return optionWords(options.flat())
  const types = schemas.map(typesOf)
  return types.every((list) => list !== undefined) ? typeWords([...new Set(types.flat())]) : undefined
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
