export interface Edit {
  readonly start: number
  readonly end: number
  readonly text: string
}

/**
 * The same bytes with some spans rewritten, as pieces. Edits do not overlap; inserted text comes before a cut at the
 * same position.
 */
export function splice(parts: readonly Buffer[], edits: readonly Edit[]): readonly (string | Buffer)[] {
  const out: (string | Buffer)[] = []
  let at = 0
  for (const edit of sortEdits(edits)) {
    copyRange(parts, { start: at, end: edit.start }, out)
    if (edit.text !== '') out.push(edit.text)
    at = edit.end
  }
  copyRange(parts, { start: at, end: Number.POSITIVE_INFINITY }, out)
  return out
}

/** Nearly always they are in order already: only an id after the result is not. */
function sortEdits(edits: readonly Edit[]): readonly Edit[] {
  for (let at = 1; at < edits.length; at++)
    if ((edits[at - 1] as Edit).start > (edits[at] as Edit).start)
      return [...edits].sort((a, b) => a.start - b.start || a.end - b.end)
  return edits
}

/** The bytes between two positions, in one piece. */
export function sliceBytes(parts: readonly Buffer[], start: number, end: number): Buffer {
  const range: Buffer[] = []
  copyRange(parts, { start, end }, range)
  return range.length === 1 ? (range[0] as Buffer) : Buffer.concat(range)
}

function copyRange(
  parts: readonly Buffer[],
  range: { start: number; end: number },
  out: { push(piece: Buffer): unknown },
): void {
  let offset = 0
  for (const part of parts) {
    const from = Math.max(0, range.start - offset)
    const to = Math.min(part.length, range.end - offset)
    if (from < to) out.push(from === 0 && to === part.length ? part : part.subarray(from, to))
    offset += part.length
    if (offset >= range.end) return
  }
}
