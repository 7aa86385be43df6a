/** A pattern: what has to be found, one after the other. */
export interface WildcardPattern<Item> {
  readonly items: ArrayLike<Item>
  /** Stands for any number of whatever is found. */
  readonly wildcard: Item
  readonly matches: (item: Item, found: string) => boolean
}

/** Never worse than the product of both lengths, whatever the pattern: on a mismatch only the last run is made longer. */
export function matchWildcards<Item>(
  { items, wildcard, matches }: WildcardPattern<Item>,
  found: ArrayLike<string>,
): boolean {
  let w = 0
  let f = 0
  let lastRun = -1
  let resume = 0
  while (f < found.length) {
    const item = items[w]
    if (item === wildcard) {
      if (w === items.length - 1) return true
      lastRun = w++
      resume = f
    } else if (item !== undefined && matches(item, found[f] as string)) {
      w++
      f++
    } else if (lastRun >= 0) {
      w = lastRun + 1
      f = ++resume
    } else return false
  }
  while (items[w] === wildcard) w++
  return w === items.length
}
