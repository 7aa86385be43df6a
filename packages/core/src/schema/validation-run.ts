import type { Json } from '../json/json.ts'
import { formatMismatch, MAX_VIOLATIONS, type Violation } from './violation.ts'

/** The state of checking one value. Violations are collected only if there is a collector. */
export interface ValidationRun {
  /** Remaining steps. If it is below zero, the result is not valid. */
  fuel: number
  /** The current nesting of references. */
  referenceDepth: number
  collector: ViolationCollector | undefined
}

export interface ViolationCollector {
  readonly path: (string | number)[]
  readonly violations: Violation[]
}

export type Check = (value: Json, run: ValidationRun) => boolean

/** Accepts every value, so it need not be called. */
export const ACCEPT_ALL: Check = () => true

/** Whether to continue after a violation. */
export const shouldContinue = ({ collector, fuel }: ValidationRun): boolean =>
  collector !== undefined && fuel >= 0 && collector.violations.length <= MAX_VIOLATIONS

/** Ends the run without a result. */
export function abortRun(run: ValidationRun): false {
  run.fuel = -1
  return false
}

/** Collects a violation of the current value. Always returns false. */
export function addViolation(run: ValidationRun, violation: Omit<Violation, 'path'>): false {
  const { collector } = run
  if (collector !== undefined) collector.violations.push({ ...violation, path: [...collector.path] })
  return false
}

/** `must be … and is …`. */
export function addMismatch(run: ValidationRun, expected: string, value: Json): false {
  const { collector } = run
  return collector !== undefined && addViolation(run, { message: formatMismatch(expected, value, collector.path) })
}

/** The same for a type or constant that distinguishes alternatives. */
export function addDiscriminatorMismatch(run: ValidationRun, expected: string, value: Json): false {
  const { collector } = run
  return (
    collector !== undefined &&
    addViolation(run, { message: formatMismatch(expected, value, collector.path), isDiscriminator: true })
  )
}

/** Enters a member or an item of the value. */
export function pushPath({ collector }: ValidationRun, key: string | number): void {
  collector?.path.push(key)
}

export function popPath({ collector }: ValidationRun): void {
  collector?.path.pop()
}

/** Runs a check without collecting violations. */
export function checkSilently(check: Check, value: Json, run: ValidationRun): boolean {
  const { collector } = run
  run.collector = undefined
  const fits = check(value, run)
  run.collector = collector
  return fits
}
