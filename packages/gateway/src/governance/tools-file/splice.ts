import type { ParseResult } from './parsed-file.ts'

/** A change at one position of a text. The offset refers to the text before the change. */
export interface Splice {
  readonly at: number
  readonly removed: string
  readonly inserted: string
}

export interface SkippedEntry {
  readonly name: string
  readonly why: string
}

/** A changed file, or why it was not changed. */
export type EditResult =
  | {
      readonly ok: true
      readonly text: string
      /** In the order of the text; empty if nothing had to be changed. */
      readonly splices: readonly Splice[]
      /** Entries that could not be written, although the others could. */
      readonly skipped: readonly SkippedEntry[]
      /** The parsed new text, which was checked before it is used. */
      readonly parsing: ParseResult
    }
  | { readonly ok: false; readonly why: string }

export function applySplices(text: string, splices: readonly Splice[]): string {
  let changed = ''
  let from = 0
  for (const { at, removed, inserted } of splices) {
    changed += text.slice(from, at) + inserted
    from = at + removed.length
  }
  return changed + text.slice(from)
}
