const PIECE = /(?<gap>\s+)|'(?<single>[^']*)'|"(?<double>(?:[^"\\]|\\.)*)"|\\(?<escaped>.)|(?<plain>[^\s'"\\]+)/suy

/**
 * Splits a command like a shell: with quotes and backslashes, without expansion. `undefined` if a quote is not closed.
 */
export function splitShellWords(command: string): readonly string[] | undefined {
  const words: string[] = []
  let open: string | undefined
  PIECE.lastIndex = 0
  for (let read = 0; read < command.length; read = PIECE.lastIndex) {
    const pieces = PIECE.exec(command)?.groups
    if (pieces === undefined) return undefined
    const { gap, single, double, escaped, plain } = pieces
    if (gap === undefined)
      open = `${open ?? ''}${single ?? double?.replaceAll(/\\(["\\$`])/g, '$1') ?? escaped ?? plain}`
    else if (open !== undefined) {
      words.push(open)
      open = undefined
    }
  }
  return open === undefined ? words : [...words, open]
}
