/** How often a test repeats what rarely breaks. */
export interface Rounds {
  /** In `npm test`. */
  readonly few: number
  /** In `.ci/run`. */
  readonly many: number
  /** In `npm run test:full`, if that is more. */
  readonly all?: number
}

export const roundsOf = ({ few, many, all = many }: Rounds): number =>
  ({ ci: many, full: all })[process.env.SALLYPORT_TESTS ?? ''] ?? few
