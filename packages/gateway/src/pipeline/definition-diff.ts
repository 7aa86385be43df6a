import { type DiffLine, diffLines, type Json, type JsonObject } from '@sallyport/core'

/** A part of a definition that is not as it was reviewed. */
export interface PartDiff {
  readonly part: string
  readonly lines: readonly DiffLine[]
}

const PARTS = ['title', 'description', 'annotations', 'inputSchema', 'outputSchema'] as const
const OTHER_PARTS = ['name', 'arguments', 'mimeType', 'text'] as const
/** Prose is broken, so that a changed sentence is seen and not a changed page. */
const PROSE_WIDTH = 100

/** What differs, part by part. Without an earlier definition everything is new. */
export function diffDefinitions(before: JsonObject | undefined, after: JsonObject): readonly PartDiff[] {
  // What is not a tool has a name of its own beside the one that it is found by.
  const parts = after.inputSchema === undefined ? [...PARTS, ...OTHER_PARTS] : PARTS
  return parts
    .map((part) => ({ part, lines: diffLines(linesOf(before?.[part]), linesOf(after[part])) }))
    .filter(({ lines }) => lines.length > 0)
}

function linesOf(value: Json | undefined): readonly string[] {
  if (value === undefined) return []
  if (typeof value === 'string') return value.split(/\r\n|[\n\r\u0085\u2028\u2029]/).flatMap(wrapLine)
  return JSON.stringify(value, undefined, 2).split('\n')
}

function wrapLine(line: string): readonly string[] {
  const pieces: string[] = []
  let from = 0
  while (line.length - from > PROSE_WIDTH) {
    const space = line.lastIndexOf(' ', from + PROSE_WIDTH)
    const to = space > from ? space + 1 : from + PROSE_WIDTH
    pieces.push(line.slice(from, to))
    from = to
  }
  return [...pieces, line.slice(from)]
}
