/** A pattern: what has to be found, one after the other. */
export interface Runs<Item> {
  readonly wanted: ArrayLike<Item>
  /** Stands for any number of whatever is found. */
  readonly run: Item
  readonly fits: (item: Item, found: string) => boolean
}

/** Never worse than the product of both lengths, whatever the pattern: on a mismatch only the last run is made longer. */
export function matchRuns<Item>({ wanted, run, fits }: Runs<Item>, found: ArrayLike<string>): boolean {
  let w = 0
  let f = 0
  let lastRun = -1
  let resume = 0
  while (f < found.length) {
    const item = wanted[w]
    if (item === run) {
      if (w === wanted.length - 1) return true
      lastRun = w++
      resume = f
    } else if (item !== undefined && fits(item, found[f] as string)) {
      w++
      f++
    } else if (lastRun >= 0) {
      w = lastRun + 1
      f = ++resume
    } else return false
  }
  while (wanted[w] === run) w++
  return w === wanted.length
}
