const TOKENS = /"(?:[^"\\]|\\.)*"|[{}[\],]/g

interface Level {
  /** Of an object; a list has none. */
  readonly names: Set<string> | undefined
  isName: boolean
}

/**
 * Whether an object of this JSON, at whatever depth, has the same name twice. The text must be valid JSON. Of two readers
 * of such an object one might take the first value and the other the last (RFC 7519, 4 for the claims of a token).
 */
export function repeatsName(text: string): boolean {
  const levels: Level[] = []
  for (const [token] of text.matchAll(TOKENS)) {
    const level = levels.at(-1)
    if (token === '{') levels.push({ names: new Set(), isName: true })
    else if (token === '[') levels.push({ names: undefined, isName: false })
    else if (token === '}' || token === ']') levels.pop()
    else if (level?.names === undefined) continue
    else if (token === ',') level.isName = true
    else if (level.isName) {
      level.isName = false
      const name = JSON.parse(token) as string
      if (level.names.has(name)) return true
      level.names.add(name)
    }
  }
  return false
}
