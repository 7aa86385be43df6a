/** A matcher for names with `*` (any run) and `?` (one character). Anything else stands for itself. */
export function nameGlob(pattern: string): (name: string) => boolean {
  if (!/[*?]/.test(pattern)) return (name) => name === pattern
  // Most names lack what a pattern spells out, and there may be thousands of both.
  const spelt = pattern.split(/[*?]/).reduce((longest, piece) => (piece.length > longest.length ? piece : longest))
  return (name) => name.includes(spelt) && matches(pattern, name)
}

/** Never worse than the product of both lengths, whatever the pattern: on a mismatch only the last `*` is tried again. */
function matches(pattern: string, name: string): boolean {
  let p = 0
  let n = 0
  let star = -1
  let resume = 0
  while (n < name.length) {
    const wanted = pattern[p]
    if (wanted === '*') {
      star = p++
      resume = n
    } else if (wanted === '?' || (wanted !== undefined && wanted === name[n])) {
      p++
      n++
    } else if (star >= 0) {
      p = star + 1
      n = ++resume
    } else return false
  }
  while (pattern[p] === '*') p++
  return p === pattern.length
}
