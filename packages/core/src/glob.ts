/** Whether a name stands for other names. */
export const isNameGlob = (name: string): boolean => /[*?]/.test(name)

/** A matcher for names with `*` (any run) and `?` (one character). Anything else stands for itself. */
export function nameGlob(pattern: string): (name: string) => boolean {
  if (pattern.includes('?')) return (name) => matches(pattern, name)
  const [head = '', ...pieces] = pattern.split(/\*+/)
  const tail = pieces.pop()
  return tail === undefined ? (name) => name === head : (name) => holds(name, { head, pieces, tail })
}

interface Pieces {
  readonly head: string
  readonly pieces: readonly string[]
  readonly tail: string
}

/** Whether a name begins and ends so, with all pieces between in their order. Each is sought where it comes first. */
function holds(name: string, { head, pieces, tail }: Pieces): boolean {
  if (!name.startsWith(head) || !name.endsWith(tail)) return false
  let from = head.length
  for (const piece of pieces) {
    const at = name.indexOf(piece, from)
    if (at < 0) return false
    from = at + piece.length
  }
  return from <= name.length - tail.length
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
