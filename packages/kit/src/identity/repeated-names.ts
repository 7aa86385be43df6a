const TOKENS = /"(?:[^"\\]|\\.)*"|[{}[\],]/g

/**
 * Does the object repeat a name? The text has to be valid JSON. RFC 7519 (4) wants claim names to be unique: of two
 * readers of such an object, one might take the first value and the other the last.
 */
export function repeatsName(text: string): boolean {
  const names = new Set<string>()
  let depth = 0
  let isName = true
  for (const [token] of text.matchAll(TOKENS)) {
    if (token === '{' || token === '[') depth += 1
    else if (token === '}' || token === ']') depth -= 1
    else if (token === ',') isName = depth === 1
    else if (depth === 1 && isName) {
      isName = false
      const name: unknown = JSON.parse(token)
      if (names.has(String(name))) return true
      names.add(String(name))
    }
  }
  return false
}
