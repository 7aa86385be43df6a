import type { Ends } from './preset.ts'

/** What was left out at the outermost level of a text. */
export interface Omission {
  readonly noun: 'item' | 'key' | 'row' | 'line' | 'part' | 'character'
  readonly count: number
  readonly of: number
}

/** One attempt at a preview, without the notice that says what is missing. */
export interface Preview {
  readonly text: string
  readonly omission: Omission
  /** Shown parts were shortened, each with a mark. */
  readonly hasCuts: boolean
}

/** The share of the preset's numbers that each attempt shows, from all of them down. */
export const SCALES: readonly number[] = [1, 0.7, 0.5, 0.35, 0.25, 0.17, 0.1, 0.06, 0.03]

/** At least one part at the beginning, so that no preview is empty. */
export const scaleEnds = ({ head, tail }: Ends, scale: number): Ends => ({
  head: Math.max(1, Math.ceil(head * scale)),
  tail: Math.floor(tail * scale),
})

const MAX_PART_LENGTH = 400
const MIN_PART_LENGTH = 24

/** The maximum length of one line, cell or string. */
export const scaleLength = (scale: number): number => Math.max(MIN_PART_LENGTH, Math.round(MAX_PART_LENGTH * scale))
