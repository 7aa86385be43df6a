import type { Json } from './json/json.ts'
import { MOST_VIOLATIONS, saysMismatch, type Violation } from './violation.ts'

/** One look at one value. What it finds is kept only when somebody wants to read it. */
export interface Inspection {
  /** Steps that are left. Once it is below zero the outcome means nothing. */
  fuel: number
  /** References that are being followed, one within the other. */
  followed: number
  notes: Notes | undefined
}

export interface Notes {
  readonly path: (string | number)[]
  readonly found: Violation[]
}

export type Check = (value: Json, inspection: Inspection) => boolean

/** What everything passes: it need not be asked. */
export const ANYTHING: Check = () => true

/** Whether there is a reason to look further after something is wrong. */
export const looksFurther = ({ notes, fuel }: Inspection): boolean =>
  notes !== undefined && fuel >= 0 && notes.found.length <= MOST_VIOLATIONS

/** The value cannot be judged here. */
export function giveUp(inspection: Inspection): false {
  inspection.fuel = -1
  return false
}

/** Keeps what is wrong with the value at hand, and says that it is wrong. */
export function note(inspection: Inspection, violation: Omit<Violation, 'path'>): false {
  const { notes } = inspection
  if (notes !== undefined) notes.found.push({ ...violation, path: [...notes.path] })
  return false
}

/** `must be … and is …`. */
export function mismatch(inspection: Inspection, expected: string, value: Json): false {
  const { notes } = inspection
  return notes !== undefined && note(inspection, { says: saysMismatch(expected, value, notes.path) })
}

/** The same of a mark by which alternatives are told apart. */
export function wrongMark(inspection: Inspection, expected: string, value: Json): false {
  const { notes } = inspection
  return notes !== undefined && note(inspection, { says: saysMismatch(expected, value, notes.path), isMark: true })
}

/** From here on a part of the value is looked at. */
export function enter({ notes }: Inspection, key: string | number): void {
  notes?.path.push(key)
}

export function leave({ notes }: Inspection): void {
  notes?.path.pop()
}

/** Whether it fits, without a word about what does not. */
export function quietly(check: Check, value: Json, inspection: Inspection): boolean {
  const { notes } = inspection
  inspection.notes = undefined
  const fits = check(value, inspection)
  inspection.notes = notes
  return fits
}
