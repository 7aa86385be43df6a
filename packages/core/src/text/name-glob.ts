import { matchWildcards } from './match-wildcards.ts'

/** Whether a name contains wildcards. */
export const isNameGlob = (name: string): boolean => /[*?]/.test(name)

/** A matcher for names with `*` (any run) and `?` (one character). Other characters match themselves. */
export function compileNameGlob(pattern: string): (name: string) => boolean {
  if (pattern.includes('?')) return (name) => matches(pattern, name)
  const [head = '', ...pieces] = pattern.split(/\*+/)
  const tail = pieces.pop()
  return tail === undefined ? (name) => name === head : (name) => matchesPieces(name, { head, pieces, tail })
}

interface Pieces {
  readonly head: string
  readonly pieces: readonly string[]
  readonly tail: string
}

/** Whether a name has this head and tail, and all pieces between them in order. Uses the first match of each piece. */
function matchesPieces(name: string, { head, pieces, tail }: Pieces): boolean {
  if (!name.startsWith(head) || !name.endsWith(tail)) return false
  let from = head.length
  for (const piece of pieces) {
    const at = name.indexOf(piece, from)
    if (at < 0) return false
    from = at + piece.length
  }
  return from <= name.length - tail.length
}

const matches = (pattern: string, name: string): boolean =>
  matchWildcards({ items: pattern, wildcard: '*', matches: (sign, found) => sign === '?' || sign === found }, name)
