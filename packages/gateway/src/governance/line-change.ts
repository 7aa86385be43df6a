/** A small change of a text, shown as whole lines. */
export interface LineChange {
  readonly file: string
  /** The first changed line, starting at 1. */
  readonly line: number
  readonly removed: readonly string[]
  readonly added: readonly string[]
}

export function diffLines(file: string, before: string, after: string): LineChange {
  const [old, now] = [before.split(/\r?\n/), after.split(/\r?\n/)]
  let start = 0
  while (start < old.length && start < now.length && old[start] === now[start]) start++
  let end = 0
  while (end < old.length - start && end < now.length - start && old.at(-1 - end) === now.at(-1 - end)) end++
  return {
    file,
    line: start + 1,
    removed: old.slice(start, old.length - end),
    added: now.slice(start, now.length - end),
  }
}
