/** Controls, formats and line ends: a name with these cannot be typed or read in a terminal. */
const UNTYPEABLE = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\u2028\u2029]/u

/**
 * Quotes a word for a shell. This is needed because names come from servers, and people paste the commands that we
 * print.
 */
export function quoteForShell(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word
  if (!UNTYPEABLE.test(word)) return `'${word.replaceAll("'", `'\\''`)}'`
  return `$'${Array.from(word, escaped).join('')}'`
}

/** Escapes for bash and zsh between `$'` and `'`. */
function escaped(char: string): string {
  if (char === "'" || char === '\\') return `\\${char}`
  if (!UNTYPEABLE.test(char)) return char
  return `\\U${(char.codePointAt(0) ?? 0).toString(16).padStart(8, '0')}`
}
