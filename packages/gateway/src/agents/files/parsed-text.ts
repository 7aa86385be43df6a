import { isDeeperThan, type Json } from '@sallyport/core'

/** Deeper than any agent's settings; what recurses over a document is safe up to here. */
export const MAX_DEPTH = 200

export const isTooDeep = (value: Json | undefined): boolean => isDeeperThan(value, MAX_DEPTH)

/** What a text says, or where it stops making sense. The problem never quotes the text, which may hold secrets. */
export type ParsedText =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly line: number; readonly column: number; readonly problem: string }

export const TOO_DEEP = `this is nested more than ${MAX_DEPTH} levels deep.`

/** A problem at so many UTF-16 units from the beginning. */
export const problemAt = (text: string, offset: number, problem: string): ParsedText => ({
  ok: false,
  problem,
  ...positionAt(text, offset),
})

export function positionAt(text: string, offset: number): { readonly line: number; readonly column: number } {
  const before = text.slice(0, offset)
  return { line: before.split('\n').length, column: offset - before.lastIndexOf('\n') }
}
