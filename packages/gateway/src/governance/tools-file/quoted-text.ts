const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
}

/** Quotes a string so that every YAML version reads it the same way: double quotes and printable ASCII only. */
export function quoteAscii(text: string): string {
  const escaped = text.replaceAll(/["\\]|[^ -~]/gu, (char) => {
    if (char === '"' || char === '\\') return `\\${char}`
    const code = char.codePointAt(0) ?? 0
    const hex = code.toString(16)
    return code > 0xffff ? `\\U${hex.padStart(8, '0')}` : `\\u${hex.padStart(4, '0')}`
  })
  return `"${escaped}"`
}

/** A double-quoted string on one line, as far as `unquote` supports it. */
export const QUOTED =
  '"(?:[^"\\\\\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029\\ufeff]|\\\\(?:["\\\\/bfnrt]|u[0-9a-fA-F]{4}|U00(?:0[0-9a-fA-F]|10)[0-9a-fA-F]{4}))*"'

/** The value of a double-quoted string that `QUOTED` matches. */
export function unquote(quoted: string): string {
  const inside = quoted.slice(1, -1)
  if (!inside.includes('\\')) return inside
  return inside.replaceAll(
    /\\(?:[uU]((?<=U)[0-9a-fA-F]{8}|(?<=u)[0-9a-fA-F]{4})|(.))/g,
    (written, hex: string | undefined) =>
      hex === undefined ? (ESCAPES[written.slice(1)] ?? '') : String.fromCodePoint(Number.parseInt(hex, 16)),
  )
}
