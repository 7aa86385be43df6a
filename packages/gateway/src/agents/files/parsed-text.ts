import { isDeeperThan, type Json } from '@sallyport/core'

/** Deeper than any agent's settings. Recursive functions over a document are safe up to this depth. */
export const MAX_DEPTH = 200

export const isTooDeep = (value: Json | undefined): boolean => isDeeperThan(value, MAX_DEPTH)

/**
 * The parsed value, or the position of the first problem. `problem` never quotes the text, which may contain secrets.
 */
export type ParsedText =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly line: number; readonly column: number; readonly problem: string }

export const TOO_DEEP = `this is nested more than ${MAX_DEPTH} levels deep.`

/** A problem at an offset in UTF-16 units. */
export const problemAt = (text: string, offset: number, problem: string): ParsedText => ({
  ok: false,
  problem,
  ...positionAt(text, offset),
})

export function positionAt(text: string, offset: number): { readonly line: number; readonly column: number } {
  const before = text.slice(0, offset)
  return { line: before.split('\n').length, column: offset - before.lastIndexOf('\n') }
}
