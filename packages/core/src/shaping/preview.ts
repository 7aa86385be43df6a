import type { Ends } from './preset.ts'

/** What was left out at the outermost level of a text. */
export interface Omission {
  readonly noun: 'item' | 'key' | 'row' | 'line' | 'part' | 'character'
  readonly count: number
  readonly of: number
}

/** One attempt at a preview. The notice that says what is missing is not in it. */
export interface Preview {
  readonly text: string
  readonly omission: Omission
  /** Parts of what is shown were cut, each marked at its place. */
  readonly hasCuts: boolean
}

/** How much of what a preset allows an attempt shows, from all of it down. */
export const SCALES: readonly number[] = [1, 0.7, 0.5, 0.35, 0.25, 0.17, 0.1, 0.06, 0.03]

/** At least one of the beginning, so that a preview of anything shows something. */
export const scaleEnds = ({ head, tail }: Ends, scale: number): Ends => ({
  head: Math.max(1, Math.ceil(head * scale)),
  tail: Math.floor(tail * scale),
})

const MAX_PART_LENGTH = 400
const MIN_PART_LENGTH = 24

/** How long one line, cell or text may be. */
export const scaleLength = (scale: number): number => Math.max(MIN_PART_LENGTH, Math.round(MAX_PART_LENGTH * scale))
