/** A line of a diff: only in the first text, only in the second, in both, or a summary of omitted common lines. */
export interface DiffLine {
  readonly mark: '-' | '+' | ' ' | '…'
  readonly text: string
  /** Its number, from 1: of a removed line in the first text, else in the second. A summary has none. */
  readonly line?: number
}

/** Longer parts are first split at lines that occur once in each text: comparing all pairs would take too long. */
const MAX_PAIRS = 1_000_000
/** Texts of strangers could be split again and again. What is still too long is shown as replaced. */
const MAX_SPLITS = 8
const CONTEXT = 3

/** The removed and added lines, with some lines of context. Empty if both lists are equal. */
export function diffLines(before: readonly string[], after: readonly string[]): readonly DiffLine[] {
  const lines = compare(before, after, MAX_SPLITS)
  return lines.every(({ mark }) => mark === ' ') ? [] : collapseUnchanged(numberLines(lines))
}

function compare(before: readonly string[], after: readonly string[], splits: number): readonly DiffLine[] {
  const head = commonHead(before, after)
  const tail = commonTail(before.slice(head), after.slice(head))
  const old = before.slice(head, before.length - tail)
  const fresh = after.slice(head, after.length - tail)
  const same = (lines: readonly string[]): readonly DiffLine[] => lines.map((text) => ({ mark: ' ', text }))
  const middle = old.length * fresh.length > MAX_PAIRS ? splitLines(old, fresh, splits) : compareLines(old, fresh)
  return [...same(before.slice(0, head)), ...middle, ...same(before.slice(before.length - tail))]
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

/** Compares the parts between lines that are certainly the same. */
function splitLines(old: readonly string[], fresh: readonly string[], splits: number): readonly DiffLine[] {
  const anchors = splits === 0 ? [] : findAnchors(old, fresh)
  if (anchors.length === 0) return replaceLines(old, fresh)
  const parts: (readonly DiffLine[])[] = []
  let from: Anchor = [0, 0]
  for (const to of [...anchors, [old.length, fresh.length] as const]) {
    parts.push(compare(old.slice(from[0], to[0]), fresh.slice(from[1], to[1]), splits - 1))
    from = to
  }
  return parts.flat()
}

/** The positions of one line in both texts. */
type Anchor = readonly [old: number, fresh: number]

/** Lines that occur exactly once in each text, as far as they have the same order in both. */
function findAnchors(old: readonly string[], fresh: readonly string[]): readonly Anchor[] {
  const places = findUnique(fresh)
  const pairs = [...findUnique(old)].flatMap(([text, at]): readonly Anchor[] => {
    const place = places.get(text)
    return place === undefined ? [] : [[at, place]]
  })
  return longestRising(pairs)
}

function findUnique(lines: readonly string[]): ReadonlyMap<string, number> {
  const places = new Map<string, number>()
  const repeated = new Set<string>()
  for (const [at, text] of lines.entries()) {
    if (places.has(text)) repeated.add(text)
    else places.set(text, at)
  }
  for (const text of repeated) places.delete(text)
  return places
}

/** The longest run of pairs that rises on both sides; they already rise on the first. */
function longestRising(pairs: readonly Anchor[]): readonly Anchor[] {
  /** For each length of a run, the pair with which the lowest one ends. */
  const ends: number[] = []
  const previous: (number | undefined)[] = []
  for (const [index, [, place]] of pairs.entries()) {
    let [low, high] = [0, ends.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((pairs[ends[middle] ?? 0]?.[1] ?? 0) < place) low = middle + 1
      else high = middle
    }
    previous.push(ends[low - 1])
    ends[low] = index
  }
  const run: Anchor[] = []
  for (let index = ends.at(-1); index !== undefined; index = previous[index]) run.push(pairs[index] as Anchor)
  return run.reverse()
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

function numberLines(lines: readonly DiffLine[]): readonly DiffLine[] {
  let [old, fresh] = [0, 0]
  return lines.map((line) => {
    if (line.mark !== '+') old++
    if (line.mark !== '-') fresh++
    return { ...line, line: line.mark === '-' ? old : fresh }
  })
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
