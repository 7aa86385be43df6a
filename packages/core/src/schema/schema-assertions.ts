import { canonicalJson, hasMoreValues, isJsonList, isJsonObject, type Json, sameJson } from '../json/json.ts'
import { isMultipleOf } from './multiple-of.ts'
import {
  abortRun,
  addDiscriminatorMismatch,
  addMismatch,
  addViolation,
  type Check,
  popPath,
  pushPath,
  shouldContinue,
  type ValidationRun,
} from './validation-run.ts'
import { formatOptions, formatTypes } from './violation.ts'

/** Compiles one keyword; `undefined` if its operand is invalid. */
export type CompileKeyword = (operand: Json) => Check | undefined

/** Keywords that check one value without other schemas. */
export const ASSERTIONS: ReadonlyMap<string, CompileKeyword> = new Map<string, CompileKeyword>([
  ['type', typeCheck],
  ['const', (operand) => optionCheck([operand])],
  ['enum', enumCheck],
  ['minimum', boundCheck('at least', (value, limit) => value >= limit)],
  ['maximum', boundCheck('at most', (value, limit) => value <= limit)],
  ['exclusiveMinimum', boundCheck('more than', (value, limit) => value > limit)],
  ['exclusiveMaximum', boundCheck('less than', (value, limit) => value < limit)],
  ['multipleOf', multipleCheck],
  ['minLength', lengthCheck('at least', (value, limit) => !hasFewerCodePoints(value, limit))],
  ['maxLength', lengthCheck('at most', (value, limit) => hasFewerCodePoints(value, limit + 1))],
  ['minItems', sizeCheck(countItems, 'at least', 'items')],
  ['maxItems', sizeCheck(countItems, 'at most', 'items')],
  ['minProperties', sizeCheck(countMembers, 'at least', 'members')],
  ['maxProperties', sizeCheck(countMembers, 'at most', 'members')],
  ['uniqueItems', uniqueCheck],
  ['required', requiredCheck],
])

const TYPES: Readonly<Record<string, (value: Json) => boolean>> = {
  string: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number' && Number.isFinite(value),
  integer: (value) => Number.isInteger(value),
  boolean: (value) => typeof value === 'boolean',
  null: (value) => value === null,
  array: (value) => Array.isArray(value),
  object: isJsonObject,
}

function typeCheck(operand: Json): Check | undefined {
  const names: readonly Json[] = isJsonList(operand) ? operand : [operand]
  const isKnown = (name: Json): name is string => typeof name === 'string' && Object.hasOwn(TYPES, name)
  if (names.length === 0 || !names.every(isKnown)) return undefined
  const tests = names.flatMap((name) => TYPES[name] ?? [])
  const [first, second] = tests
  const words = formatTypes(names)
  if (first !== undefined && second === undefined)
    return (value, run) => first(value) || addDiscriminatorMismatch(run, words, value)
  return (value, run) => tests.some((test) => test(value)) || addDiscriminatorMismatch(run, words, value)
}

function enumCheck(operand: Json): Check | undefined {
  return isJsonList(operand) && operand.length > 0 ? optionCheck(operand) : undefined
}

function optionCheck(options: readonly Json[]): Check {
  const simple = new Set(options.filter((option) => !isNested(option)))
  const nested = options.filter(isNested)
  return (value, run) => {
    if (simple.has(value)) return true
    run.fuel -= nested.length
    if (nested.some((option) => sameJson(option, value))) return true
    return run.collector !== undefined && addDiscriminatorMismatch(run, formatOptions(options), value)
  }
}

const isNested = (value: Json): boolean => typeof value === 'object' && value !== null

function boundCheck(words: string, holds: (value: number, limit: number) => boolean): CompileKeyword {
  return (limit) => {
    if (typeof limit !== 'number' || !Number.isFinite(limit)) return undefined
    return (value, run) =>
      typeof value !== 'number' || holds(value, limit) || addMismatch(run, `${words} ${limit}`, value)
  }
}

function multipleCheck(step: Json): Check | undefined {
  if (typeof step !== 'number' || !Number.isFinite(step) || step <= 0) return undefined
  return (value, run) =>
    typeof value !== 'number' || isMultipleOf(value, step) || addMismatch(run, `a multiple of ${step}`, value)
}

export const isCount = (value: Json): value is number => Number.isInteger(value) && (value as number) >= 0

function lengthCheck(words: string, holds: (value: string, limit: number) => boolean): CompileKeyword {
  return (limit) => {
    if (!isCount(limit)) return undefined
    return (value, run) => {
      if (typeof value !== 'string') return true
      // At most as many characters are read as the decision needs; sixteen cost one unit of fuel.
      run.fuel -= Math.min(value.length, limit * 2) >>> 4
      return holds(value, limit) || addViolation(run, { message: `must have ${words} ${limit} characters` })
    }
  }
}

/** Whether a string has fewer code points than `limit`. */
function hasFewerCodePoints(text: string, limit: number): boolean {
  if (text.length < limit) return true
  if (text.length >= limit * 2) return false
  let points = 0
  for (let at = 0; at < text.length; at++) {
    if ((text.codePointAt(at) ?? 0) > 0xffff) at++
    if (++points >= limit) return false
  }
  return true
}

function countItems(value: Json): number | undefined {
  return Array.isArray(value) ? value.length : undefined
}

function countMembers(value: Json): number | undefined {
  if (!isJsonObject(value)) return undefined
  let count = 0
  for (const key of Object.keys(value)) if (value[key] !== undefined) count++
  return count
}

function sizeCheck(
  count: (value: Json) => number | undefined,
  words: 'at least' | 'at most',
  unit: string,
): CompileKeyword {
  return (limit) => {
    if (!isCount(limit)) return undefined
    return (value, run) => {
      const got = count(value)
      if (got === undefined || (words === 'at least' ? got >= limit : got <= limit)) return true
      return addViolation(run, { message: `must have ${words} ${limit} ${unit} and has ${got}` })
    }
  }
}

function uniqueCheck(operand: Json): Check | undefined {
  if (typeof operand !== 'boolean') return undefined
  return operand ? isUnique : () => true
}

function isUnique(value: Json, run: ValidationRun): boolean {
  if (!Array.isArray(value) || value.length < 2) return true
  run.fuel -= value.length
  if (run.fuel < 0) return false
  const seen = new Set<Json>()
  // Compares canonical JSON instead of all pairs, which would be quadratic.
  const written = new Set<string>()
  for (const item of value as readonly Json[]) {
    const isKnown = isNested(item) ? addWritten(written, item, run) : seen.has(item)
    if (run.fuel < 0) return false
    if (isKnown) return addViolation(run, { message: 'must not hold the same item twice' })
    if (!isNested(item)) seen.add(item)
  }
  return true
}

/** Adds an item. Returns whether it was already there. */
function addWritten(written: Set<string>, item: Json, run: ValidationRun): boolean {
  if (hasMoreValues(item, run.fuel)) return abortRun(run)
  const text = canonicalJson(item)
  run.fuel -= text.length >>> 4
  const isKnown = written.has(text)
  written.add(text)
  return isKnown
}

function requiredCheck(operand: Json): Check | undefined {
  if (!isJsonList(operand) || !operand.every((name) => typeof name === 'string')) return undefined
  const names: readonly string[] = operand
  return (value, run) => {
    if (!isJsonObject(value)) return true
    run.fuel -= names.length
    return run.collector === undefined ? names.every((name) => hasMember(value, name)) : addMissing(value, names, run)
  }
}

const hasMember = (value: Readonly<Record<string, Json | undefined>>, name: string): boolean =>
  value[name] !== undefined && Object.hasOwn(value, name)

function addMissing(
  value: Readonly<Record<string, Json | undefined>>,
  names: readonly string[],
  run: ValidationRun,
): boolean {
  const missing = names.filter((name) => !hasMember(value, name))
  for (const name of missing) {
    if (!shouldContinue(run)) break
    pushPath(run, name)
    addViolation(run, { message: 'is missing' })
    popPath(run)
  }
  return missing.length === 0
}
