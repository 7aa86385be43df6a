/** The candidate that was most likely meant; `undefined` if none is similar. */
export function findClosest(typed: string, candidates: Iterable<string>): string | undefined {
  const wanted = fold(typed)
  let best: string | undefined
  let bestDistance = Math.max(1, Math.floor(wanted.length / 3)) + 1
  for (const candidate of candidates) {
    const distance = editDistance(wanted, fold(candidate), bestDistance)
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

/** ` Did you mean "x"?`, or the empty string. */
export function didYouMean(typed: string, candidates: Iterable<string>): string {
  const best = findClosest(typed, candidates)
  return best === undefined ? '' : ` Did you mean "${best}"?`
}

const fold = (text: string): string => text.toLowerCase().replaceAll(/[-_\s]/g, '')

/** Damerau-Levenshtein distance (adjacent swaps count one). Stops once it cannot be below `limit`. */
function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) >= limit) return limit
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      let cost = Math.min(cellAt(row, j - 1) + 1, cellAt(last, j) + 1, cellAt(last, j - 1) + (same ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        cost = Math.min(cost, cellAt(beforeLast, j - 2) + 1)
      }
      row.push(cost)
    }
    if (Math.min(...row) >= limit) return limit
    beforeLast = last
    last = row
  }
  return cellAt(last, b.length)
}

const cellAt = (row: readonly number[], index: number): number => row[index] ?? 0
