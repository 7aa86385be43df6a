export interface DiffLine {
  readonly kind: 'same' | 'add' | 'del' | 'gap'
  readonly text: string
  /** The number in the new text; of a removed line, in the old one. */
  readonly line?: number
}

/** Lines that stay around a change. */
const CONTEXT = 3
/** Beyond this the table of the comparison would be too large: then all of the middle is replaced. */
const MAX_CELLS = 4_000_000

/** What changed between two texts, line by line, with a few unchanged lines around. */
export function diffLines(before: string, after: string): readonly DiffLine[] {
  const [old, now] = [before.split('\n'), after.split('\n')]
  const start = countEqual(old.length, now.length, (index) => old[index] === now[index])
  const rest = Math.min(old.length, now.length) - start
  const end = countEqual(rest, rest, (index) => old[old.length - 1 - index] === now[now.length - 1 - index])
  const same = now.slice(0, start).map((text, index): DiffLine => ({ kind: 'same', text, line: index + 1 }))
  const middle = diffMiddle(old.slice(start, old.length - end), now.slice(start, now.length - end), start)
  const tail = now
    .slice(now.length - end)
    .map((text, index): DiffLine => ({ kind: 'same', text, line: now.length - end + index + 1 }))
  return hideFarLines([...same, ...middle, ...tail])
}

function countEqual(a: number, b: number, isEqual: (index: number) => boolean): number {
  let count = 0
  while (count < a && count < b && isEqual(count)) count++
  return count
}

function diffMiddle(old: readonly string[], now: readonly string[], offset: number): DiffLine[] {
  const del = (index: number): DiffLine => ({ kind: 'del', text: old[index] ?? '', line: offset + index + 1 })
  const add = (index: number): DiffLine => ({ kind: 'add', text: now[index] ?? '', line: offset + index + 1 })
  if (old.length * now.length > MAX_CELLS)
    return [...old.map((_, index) => del(index)), ...now.map((_, index) => add(index))]
  const lengths = commonLengths(old, now)
  const at = (i: number, j: number): number => lengths[i]?.[j] ?? 0
  const lines: DiffLine[] = []
  let [i, j] = [0, 0]
  while (i < old.length || j < now.length) {
    if (i < old.length && j < now.length && old[i] === now[j]) {
      lines.push({ kind: 'same', text: now[j] ?? '', line: offset + j + 1 })
      i++
      j++
    } else if (i < old.length && (j === now.length || at(i + 1, j) >= at(i, j + 1))) lines.push(del(i++))
    else lines.push(add(j++))
  }
  return lines
}

/** The length of the longest common part of what begins at each pair of lines. */
function commonLengths(old: readonly string[], now: readonly string[]): readonly Uint32Array[] {
  const lengths = Array.from({ length: old.length + 1 }, () => new Uint32Array(now.length + 1))
  for (let i = old.length - 1; i >= 0; i--)
    for (let j = now.length - 1; j >= 0; j--) {
      const row = lengths[i] as Uint32Array
      const below = lengths[i + 1] as Uint32Array
      row[j] = old[i] === now[j] ? (below[j + 1] ?? 0) + 1 : Math.max(below[j] ?? 0, row[j + 1] ?? 0)
    }
  return lengths
}

function hideFarLines(lines: readonly DiffLine[]): readonly DiffLine[] {
  const isNear = lines.map((_, index) =>
    lines.slice(Math.max(0, index - CONTEXT), index + CONTEXT + 1).some(({ kind }) => kind !== 'same'),
  )
  return lines.flatMap((line, index): readonly DiffLine[] => {
    if (isNear[index]) return [line]
    return index > 0 && !isNear[index - 1] ? [] : [{ kind: 'gap', text: '…' }]
  })
}
