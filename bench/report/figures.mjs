/** The median of the values; NaN if there are none. */
export function median(values) {
  const sorted = values.filter(Number.isFinite).sort((a, b) => a - b)
  if (sorted.length === 0) return Number.NaN
  const middle = (sorted.length - 1) / 2
  return (sorted[Math.floor(middle)] + sorted[Math.ceil(middle)]) / 2
}

/** Of values in ascending order. */
export function percentile(sorted, share) {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

/** The spread of the rounds of one number: half the distance of the quartiles, as a share of the median. */
export function spread(values) {
  const sorted = values.filter(Number.isFinite).sort((a, b) => a - b)
  if (sorted.length < 2) return Number.NaN
  return (percentile(sorted, 0.75) - percentile(sorted, 0.25)) / 2 / median(sorted)
}
