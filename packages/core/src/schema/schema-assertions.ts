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

/** Makes the check of one keyword, or nothing where its value is not what the keyword takes. */
export type CompileKeyword = (operand: Json) => Check | undefined

/** The keywords that look at one value and into no other schema. */
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
    return (value, inspection) => first(value) || addDiscriminatorMismatch(inspection, words, value)
  return (value, inspection) => tests.some((test) => test(value)) || addDiscriminatorMismatch(inspection, words, value)
}

function enumCheck(operand: Json): Check | undefined {
  return isJsonList(operand) && operand.length > 0 ? optionCheck(operand) : undefined
}

function optionCheck(options: readonly Json[]): Check {
  const simple = new Set(options.filter((option) => !isNested(option)))
  const nested = options.filter(isNested)
  return (value, inspection) => {
    if (simple.has(value)) return true
    inspection.fuel -= nested.length
    if (nested.some((option) => sameJson(option, value))) return true
    return inspection.collector !== undefined && addDiscriminatorMismatch(inspection, formatOptions(options), value)
  }
}

const isNested = (value: Json): boolean => typeof value === 'object' && value !== null

function boundCheck(words: string, holds: (value: number, limit: number) => boolean): CompileKeyword {
  return (limit) => {
    if (typeof limit !== 'number' || !Number.isFinite(limit)) return undefined
    return (value, inspection) =>
      typeof value !== 'number' || holds(value, limit) || addMismatch(inspection, `${words} ${limit}`, value)
  }
}

function multipleCheck(step: Json): Check | undefined {
  if (typeof step !== 'number' || !Number.isFinite(step) || step <= 0) return undefined
  return (value, inspection) =>
    typeof value !== 'number' || isMultipleOf(value, step) || addMismatch(inspection, `a multiple of ${step}`, value)
}

export const isCount = (value: Json): value is number => Number.isInteger(value) && (value as number) >= 0

function lengthCheck(words: string, holds: (value: string, limit: number) => boolean): CompileKeyword {
  return (limit) => {
    if (!isCount(limit)) return undefined
    return (value, inspection) => {
      if (typeof value !== 'string') return true
      // Only as many characters are ever looked at as decide it, sixteen of them for a step.
      inspection.fuel -= Math.min(value.length, limit * 2) >>> 4
      return holds(value, limit) || addViolation(inspection, { message: `must have ${words} ${limit} characters` })
    }
  }
}

/** Whether a text has fewer characters than that, where those beyond the first plane count once. */
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
    return (value, inspection) => {
      const got = count(value)
      if (got === undefined || (words === 'at least' ? got >= limit : got <= limit)) return true
      return addViolation(inspection, { message: `must have ${words} ${limit} ${unit} and has ${got}` })
    }
  }
}

function uniqueCheck(operand: Json): Check | undefined {
  if (typeof operand !== 'boolean') return undefined
  return operand ? isUnique : () => true
}

function isUnique(value: Json, inspection: ValidationRun): boolean {
  if (!Array.isArray(value) || value.length < 2) return true
  inspection.fuel -= value.length
  if (inspection.fuel < 0) return false
  const seen = new Set<Json>()
  // Not compared with each other, which would be quadratic: what is the same is written the same.
  const written = new Set<string>()
  for (const item of value as readonly Json[]) {
    const isKnown = isNested(item) ? addWritten(written, item, inspection) : seen.has(item)
    if (inspection.fuel < 0) return false
    if (isKnown) return addViolation(inspection, { message: 'must not hold the same item twice' })
    if (!isNested(item)) seen.add(item)
  }
  return true
}

/** Whether it was there before. It is from now on. */
function addWritten(written: Set<string>, item: Json, inspection: ValidationRun): boolean {
  if (hasMoreValues(item, inspection.fuel)) return abortRun(inspection)
  const text = canonicalJson(item)
  inspection.fuel -= text.length >>> 4
  const isKnown = written.has(text)
  written.add(text)
  return isKnown
}

function requiredCheck(operand: Json): Check | undefined {
  if (!isJsonList(operand) || !operand.every((name) => typeof name === 'string')) return undefined
  const names: readonly string[] = operand
  return (value, inspection) => {
    if (!isJsonObject(value)) return true
    inspection.fuel -= names.length
    return inspection.collector === undefined
      ? names.every((name) => hasMember(value, name))
      : addMissing(value, names, inspection)
  }
}

const hasMember = (value: Readonly<Record<string, Json | undefined>>, name: string): boolean =>
  value[name] !== undefined && Object.hasOwn(value, name)

function addMissing(
  value: Readonly<Record<string, Json | undefined>>,
  names: readonly string[],
  inspection: ValidationRun,
): boolean {
  const missing = names.filter((name) => !hasMember(value, name))
  for (const name of missing) {
    if (!shouldContinue(inspection)) break
    pushPath(inspection, name)
    addViolation(inspection, { message: 'is missing' })
    popPath(inspection)
  }
  return missing.length === 0
}
