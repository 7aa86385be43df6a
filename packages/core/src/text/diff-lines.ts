/** A line of a diff: only in the first text, only in the second, in both, or a summary of omitted common lines. */
export interface DiffLine {
  readonly mark: '-' | '+' | ' ' | '…'
  readonly text: string
}

/** With more pairs of lines to compare, the differing part is shown as a whole, since texts can have any size. */
const MAX_PAIRS = 1_000_000
const CONTEXT = 3

/** The removed and added lines, with some lines of context. Empty if both lists are equal. */
export function diffLines(before: readonly string[], after: readonly string[]): readonly DiffLine[] {
  const head = commonHead(before, after)
  const tail = commonTail(before.slice(head), after.slice(head))
  const old = before.slice(head, before.length - tail)
  const fresh = after.slice(head, after.length - tail)
  if (old.length === 0 && fresh.length === 0) return []
  const same = (lines: readonly string[]): readonly DiffLine[] => lines.map((text) => ({ mark: ' ', text }))
  const middle = old.length * fresh.length > MAX_PAIRS ? replaceLines(old, fresh) : compareLines(old, fresh)
  return collapseUnchanged([...same(before.slice(0, head)), ...middle, ...same(before.slice(before.length - tail))])
}

function commonHead(a: readonly string[], b: readonly string[]): number {
  let length = 0
  while (length < a.length && length < b.length && a[length] === b[length]) length++
  return length
}

function commonTail(a: readonly string[], b: readonly string[]): number {
  let length = 0
  while (length < a.length && length < b.length && a.at(-1 - length) === b.at(-1 - length)) length++
  return length
}

const replaceLines = (old: readonly string[], fresh: readonly string[]): readonly DiffLine[] => [
  ...old.map((text): DiffLine => ({ mark: '-', text })),
  ...fresh.map((text): DiffLine => ({ mark: '+', text })),
]

function compareLines(old: readonly string[], fresh: readonly string[]): readonly DiffLine[] {
  const lengths = commonLengths(old, fresh)
  const width = fresh.length + 1
  const lines: DiffLine[] = []
  let [i, j] = [0, 0]
  while (i < old.length || j < fresh.length) {
    const [left, right] = [old[i], fresh[j]]
    if (left !== undefined && left === right) {
      lines.push({ mark: ' ', text: left })
      i++
      j++
    } else if (left !== undefined && isRemovedFirst(lengths, i * width + j, width)) {
      lines.push({ mark: '-', text: left })
      i++
    } else {
      lines.push({ mark: '+', text: right ?? '' })
      j++
    }
  }
  return lines
}

const isRemovedFirst = (lengths: Uint32Array, at: number, width: number): boolean =>
  (at + 1) % width === 0 || (lengths[at + width] ?? 0) >= (lengths[at + 1] ?? 0)

/** For each pair of positions, the length of the longest common subsequence after them. */
function commonLengths(old: readonly string[], fresh: readonly string[]): Uint32Array {
  const width = fresh.length + 1
  const lengths = new Uint32Array((old.length + 1) * width)
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = fresh.length - 1; j >= 0; j--) {
      const at = i * width + j
      lengths[at] =
        old[i] === fresh[j]
          ? (lengths[at + width + 1] ?? 0) + 1
          : Math.max(lengths[at + width] ?? 0, lengths[at + 1] ?? 0)
    }
  }
  return lengths
}

function collapseUnchanged(lines: readonly DiffLine[]): readonly DiffLine[] {
  const near = new Set<number>()
  for (const [at, { mark }] of lines.entries()) {
    if (mark === ' ') continue
    for (let index = at - CONTEXT; index <= at + CONTEXT; index++) near.add(index)
  }
  const kept: DiffLine[] = []
  let skipped = 0
  for (const [at, line] of lines.entries()) {
    if (!near.has(at)) skipped++
    if (skipped > 0 && (near.has(at) || at === lines.length - 1)) {
      kept.push({ mark: '…', text: `${skipped} ${skipped === 1 ? 'line' : 'lines'} unchanged` })
      skipped = 0
    }
    if (near.has(at)) kept.push(line)
  }
  return kept
}
