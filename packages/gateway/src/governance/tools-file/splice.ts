import type { ParseResult } from './parsed-file.ts'

/** A place where a text was changed, told by the text before the change. */
export interface Splice {
  readonly at: number
  readonly removed: string
  readonly inserted: string
}

export interface SkippedEntry {
  readonly name: string
  readonly why: string
}

/** A changed file, or why it is left alone. */
export type EditResult =
  | {
      readonly ok: true
      readonly text: string
      /** In the order of the text; none when there was nothing to do. */
      readonly splices: readonly Splice[]
      /** What could not be written though the rest could. */
      readonly skipped: readonly SkippedEntry[]
      /** The new text, which was parsed to make sure of what it says. */
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
