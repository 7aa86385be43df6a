import { type Json, sameJson } from '../json/json.ts'
import { quoteText } from '../text/excerpt.ts'
import type { CompilePattern } from '../text/text-pattern.ts'
import type { ArgumentRule } from './tools-file.ts'

/** Describes the problem of a value, as a phrase that follows the name of the field. */
export type FieldCheck = (value: Json) => string | undefined

const MAX_SHOWN_LENGTH = 60

/** The checks of one field. A value of the wrong type is refused, for example a string if a number is limited. */
export function compileFieldRule(rule: ArgumentRule, compile: CompilePattern): readonly FieldCheck[] {
  const checks: FieldCheck[] = []
  const { const: only, enum: listed, pattern, max, min, maxLength } = rule
  if (rule.forbidden) checks.push(() => 'may not be given')
  if (only !== undefined) checks.push((value) => (sameJson(value, only) ? undefined : `has to be ${formatJson(only)}`))
  if (listed)
    checks.push((value) => (isListed(value, listed) ? undefined : `has to be one of ${formatOptions(listed)}`))
  if (pattern !== undefined) checks.push(patternCheck(pattern, compile))
  if (max !== undefined)
    checks.push((value) => (isNumber(value) && value <= max ? undefined : `has to be a number up to ${max}`))
  if (min !== undefined)
    checks.push((value) => (isNumber(value) && value >= min ? undefined : `has to be a number from ${min}`))
  if (maxLength !== undefined) checks.push(lengthCheck(maxLength))
  return checks
}

function patternCheck(source: string, compile: CompilePattern): FieldCheck {
  const pattern = compile(source)
  const shownSource = quoteText(source, MAX_SHOWN_LENGTH)
  if (typeof pattern !== 'function')
    return () => `cannot be checked: the pattern ${shownSource} of its rule is invalid (${pattern.problem})`
  return (value) => {
    if (typeof value !== 'string') return `has to be a string that matches the pattern ${shownSource}`
    if (value.length > pattern.longest) return `is too long to be checked against the pattern ${shownSource}`
    return pattern(value) ? undefined : `has to be a string that matches the pattern ${shownSource}`
  }
}

const lengthCheck =
  (maxLength: number): FieldCheck =>
  (value) =>
    typeof value === 'string' && !isLonger(value, maxLength)
      ? undefined
      : `has to be a string of at most ${maxLength} characters`

/** Counts code points, each of which is one or two code units long. */
function isLonger(text: string, max: number): boolean {
  if (text.length <= max) return false
  if (text.length > 2 * max) return true
  let count = 0
  for (const _ of text) if (++count > max) return true
  return false
}

const isNumber = (value: Json): value is number => typeof value === 'number'
const isListed = (value: Json, listed: readonly Json[]): boolean => listed.some((entry) => sameJson(value, entry))
const formatJson = (value: Json): string => quoteJson(value)
const formatOptions = (values: readonly Json[]): string => values.slice(0, 10).map(quoteJson).join(', ')
const quoteJson = (value: Json): string =>
  typeof value === 'string' ? quoteText(value, MAX_SHOWN_LENGTH) : JSON.stringify(value).slice(0, MAX_SHOWN_LENGTH)
