import type { Json } from '../json/json.ts'
import { formatMismatch, MAX_VIOLATIONS, type Violation } from './violation.ts'

/** One look at one value. What it finds is kept only when somebody wants to read it. */
export interface ValidationRun {
  /** Steps that are left. Once it is below zero the outcome means nothing. */
  fuel: number
  /** References that are being followed, one within the other. */
  referenceDepth: number
  collector: ViolationCollector | undefined
}

export interface ViolationCollector {
  readonly path: (string | number)[]
  readonly violations: Violation[]
}

export type Check = (value: Json, inspection: ValidationRun) => boolean

/** What everything passes: it need not be asked. */
export const ACCEPT_ALL: Check = () => true

/** Whether there is a reason to look further after something is wrong. */
export const shouldContinue = ({ collector, fuel }: ValidationRun): boolean =>
  collector !== undefined && fuel >= 0 && collector.violations.length <= MAX_VIOLATIONS

/** The value cannot be judged here. */
export function abortRun(inspection: ValidationRun): false {
  inspection.fuel = -1
  return false
}

/** Keeps what is wrong with the value at hand, and says that it is wrong. */
export function addViolation(inspection: ValidationRun, violation: Omit<Violation, 'path'>): false {
  const { collector } = inspection
  if (collector !== undefined) collector.violations.push({ ...violation, path: [...collector.path] })
  return false
}

/** `must be … and is …`. */
export function addMismatch(inspection: ValidationRun, expected: string, value: Json): false {
  const { collector } = inspection
  return (
    collector !== undefined && addViolation(inspection, { message: formatMismatch(expected, value, collector.path) })
  )
}

/** The same of a mark by which alternatives are told apart. */
export function addDiscriminatorMismatch(inspection: ValidationRun, expected: string, value: Json): false {
  const { collector } = inspection
  return (
    collector !== undefined &&
    addViolation(inspection, { message: formatMismatch(expected, value, collector.path), isDiscriminator: true })
  )
}

/** From here on a part of the value is looked at. */
export function pushPath({ collector }: ValidationRun, key: string | number): void {
  collector?.path.push(key)
}

export function popPath({ collector }: ValidationRun): void {
  collector?.path.pop()
}

/** Whether it fits, without a word about what does not. */
export function checkSilently(check: Check, value: Json, inspection: ValidationRun): boolean {
  const { collector } = inspection
  inspection.collector = undefined
  const fits = check(value, inspection)
  inspection.collector = collector
  return fits
}
