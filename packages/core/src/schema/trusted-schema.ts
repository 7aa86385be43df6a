import { isJsonList, isJsonObject, type Json, type JsonObject } from '../json/json.ts'
import { APPLICATORS, type Applicator, checkMembers, rejectUnknown } from './schema-applicators.ts'
import { ASSERTIONS, type CompileKeyword, isCount } from './schema-assertions.ts'
import { type CompileResult, compileWith, type Vocabulary } from './simple-schema.ts'
import { type CompileSubschema, compileSubschemas } from './subschemas.ts'
import {
  ACCEPT_ALL,
  addViolation,
  type Check,
  checkSilently,
  popPath,
  pushPath,
  shouldContinue,
} from './validation-run.ts'

/** About a tenth of a second: enough for a value of several megabytes. */
const FUEL = 5_000_000

/** Keywords that are not supported here either. */
const UNSUPPORTED_KEYWORDS: ReadonlySet<string> = new Set([
  '$dynamicAnchor',
  '$dynamicRef',
  '$recursiveAnchor',
  '$recursiveRef',
  'additionalItems',
  'dependencies',
  'nullable',
  'unevaluatedItems',
  'unevaluatedProperties',
])

/**
 * Compiles a schema that the author of the program wrote, so its regular expressions are trusted. Returns the name of
 * an unsupported keyword instead of silently ignoring it.
 */
export const compileTrustedSchema = (schema: JsonObject): CompileResult => compileWith(TRUSTED_VOCABULARY, schema)

const TRUSTED_VOCABULARY: Vocabulary = {
  fuel: FUEL,
  assertions: new Map<string, CompileKeyword>([
    ...ASSERTIONS,
    ['pattern', compilePattern],
    ['dependentRequired', compileDependentRequired],
    ['minContains', (operand) => (isCount(operand) ? ACCEPT_ALL : undefined)],
    ['maxContains', (operand) => (isCount(operand) ? ACCEPT_ALL : undefined)],
  ]),
  applicators: new Map<string, Applicator>([
    ...APPLICATORS,
    ['properties', compileMembers],
    ['patternProperties', compileMembers],
    ['additionalProperties', compileMembers],
    ['prefixItems', compileItems],
    ['items', compileItems],
    ['contains', compileContains],
    ['not', compileNot],
    ['if', compileCondition],
    ['then', compileCondition],
    ['else', compileCondition],
    ['dependentSchemas', compileDependentSchemas],
  ]),
  unsupported: UNSUPPORTED_KEYWORDS,
  findTarget,
}

function readPattern(pattern: Json | undefined): RegExp | undefined {
  try {
    return typeof pattern === 'string' ? new RegExp(pattern, 'u') : undefined
  } catch {
    return undefined
  }
}

function compilePattern(operand: Json): Check | undefined {
  const pattern = readPattern(operand)
  if (pattern === undefined) return undefined
  return (value, run) => {
    if (typeof value !== 'string') return true
    run.fuel -= value.length >>> 4
    return pattern.test(value) || addViolation(run, { message: `must match the pattern ${pattern.source}` })
  }
}

function compileDependentRequired(operand: Json): Check | undefined {
  if (!isJsonObject(operand)) return undefined
  const rules: [string, Check][] = []
  for (const [name, needed] of Object.entries(operand)) {
    const check = ASSERTIONS.get('required')?.(needed ?? null)
    if (check === undefined) return undefined
    rules.push([name, check])
  }
  return checkIfPresent(rules)
}

function compileDependentSchemas(
  { dependentSchemas: given }: JsonObject,
  compile: CompileSubschema,
): Check | undefined {
  if (!isJsonObject(given)) return undefined
  const rules: [string, Check][] = []
  for (const [name, schema] of Object.entries(given)) {
    const check = compile(schema)
    if (check === undefined) return undefined
    rules.push([name, check])
  }
  return checkIfPresent(rules)
}

/** Runs each check only for objects that have its member. */
function checkIfPresent(rules: readonly (readonly [string, Check])[]): Check {
  return (value, run) => {
    if (!isJsonObject(value)) return true
    run.fuel -= rules.length
    return rules.every(([name, check]) => !Object.hasOwn(value, name) || check(value, run))
  }
}

function compileMembers(schema: JsonObject, compile: CompileSubschema): Check | undefined {
  const { properties, patternProperties = {}, additionalProperties = true } = schema
  if (!isJsonObject(patternProperties) || (properties !== undefined && !isJsonObject(properties))) return undefined
  const known = new Map<string, Check>()
  for (const [name, part] of Object.entries(properties ?? {})) {
    const check = compile(part)
    if (check === undefined) return undefined
    known.set(name, check)
  }
  const patterned: [RegExp, Check][] = []
  for (const [name, part] of Object.entries(patternProperties)) {
    const [pattern, check] = [readPattern(name), compile(part)]
    if (pattern === undefined || check === undefined) return undefined
    patterned.push([pattern, check])
  }
  const others = additionalProperties === false ? rejectUnknown(known) : compile(additionalProperties)
  if (others === undefined) return undefined
  return patterned.length === 0 ? checkMembers(known, others) : checkPatternedMembers({ known, patterned, others })
}

interface Members {
  readonly known: ReadonlyMap<string, Check>
  readonly patterned: readonly (readonly [RegExp, Check])[]
  readonly others: Check
}

function checkPatternedMembers({ known, patterned, others }: Members): Check {
  return (value, run) => {
    if (!isJsonObject(value)) return true
    let fits = true
    for (const [key, part] of Object.entries(value)) {
      if (part === undefined) continue
      run.fuel -= patterned.length
      const named = known.get(key)
      const matching = patterned.filter(([pattern]) => pattern.test(key)).map(([, check]) => check)
      const checks = [...(named === undefined ? [] : [named]), ...matching]
      pushPath(run, key)
      const partFits = (checks.length === 0 ? [others] : checks).every((check) => check(part, run))
      popPath(run)
      if (partFits) continue
      if (!shouldContinue(run)) return false
      fits = false
    }
    return fits
  }
}

function compileItems({ prefixItems, items: rest = true }: JsonObject, compile: CompileSubschema): Check | undefined {
  const first = prefixItems === undefined ? [] : compileSubschemas(prefixItems, compile)
  const others = compile(rest)
  if (first === undefined || others === undefined) return undefined
  return (value, run) => {
    if (!Array.isArray(value)) return true
    let fits = true
    for (let index = 0; index < value.length; index++) {
      const check = first[index] ?? others
      if (check === ACCEPT_ALL) continue
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

function compileContains(schema: JsonObject, compile: CompileSubschema): Check | undefined {
  const { contains: part, minContains = 1, maxContains = Number.MAX_SAFE_INTEGER } = schema
  const check = compile(part)
  if (check === undefined || !isCount(minContains) || !isCount(maxContains)) return undefined
  return (value, run) => {
    if (!Array.isArray(value)) return true
    run.fuel -= value.length
    const count = value.filter((item: Json) => checkSilently(check, item, run)).length
    if (count >= minContains && count <= maxContains) return true
    return addViolation(run, {
      message: `contains ${count} matching items, but must contain ${minContains} or more`,
    })
  }
}

function compileNot({ not }: JsonObject, compile: CompileSubschema): Check | undefined {
  const check = compile(not)
  return (
    check &&
    ((value, run) =>
      !checkSilently(check, value, run) || addViolation(run, { message: 'matches a schema that is not allowed there' }))
  )
}

function compileCondition(schema: JsonObject, compile: CompileSubschema): Check | undefined {
  const [test, fit, other] = [schema.if, schema.then, schema.else].map((part) => compile(part ?? true))
  if (test === undefined || fit === undefined || other === undefined) return undefined
  // Without "if" the other two have no effect.
  if (schema.if === undefined) return ACCEPT_ALL
  return (value, run) => (checkSilently(test, value, run) ? fit : other)(value, run)
}

function findTarget(to: string, root: JsonObject): Json | undefined {
  if (to === '#') return root
  if (to.startsWith('#/')) return findByPointer(to.slice(2), root)
  return to.startsWith('#') ? findAnchor(to.slice(1), root) : undefined
}

function findByPointer(pointer: string, root: JsonObject): Json | undefined {
  let at: Json | undefined = root
  for (const part of pointer.split('/')) {
    const key = decode(part)
    if (key === undefined || typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return undefined
    at = (at as Readonly<Record<string, Json>>)[key]
  }
  return at
}

function decode(part: string): string | undefined {
  try {
    return decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~')
  } catch {
    return undefined
  }
}

function findAnchor(name: string, within: Json | undefined): JsonObject | undefined {
  if (isJsonObject(within) && within.$anchor === name) return within
  const parts = isJsonObject(within) ? Object.values(within) : isJsonList(within) ? within : []
  for (const part of parts) {
    const found = findAnchor(name, part)
    if (found !== undefined) return found
  }
  return undefined
}
