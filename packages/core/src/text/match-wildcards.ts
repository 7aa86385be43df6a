/** A pattern: items that have to match in order. */
export interface WildcardPattern<Item> {
  readonly items: ArrayLike<Item>
  /** Matches any number of elements. */
  readonly wildcard: Item
  readonly matches: (item: Item, found: string) => boolean
}

/** The cost is at most the product of both lengths: on a mismatch only the last wildcard is extended. */
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
