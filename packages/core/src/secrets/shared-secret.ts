/** 16 random bytes in hex have fewer different characters only once in ten million times. */
const MIN_DIFFERENT = 8
const MIN_PERIOD = 16

/** How to generate a strong key. */
export const GENERATE_SECRET_HINT = 'Make one with `openssl rand -hex 32`'

/** Why a shared key can be guessed; `undefined` if it cannot. Reveals only the length of the key. */
export function findWeakness(secret: string, minBytes: number): string | undefined {
  const bytes = utf8Length(secret)
  if (bytes < minBytes) return `it has ${bytes} bytes; expected at least ${minBytes}`
  if (new Set(secret).size < MIN_DIFFERENT) return `it has fewer than ${MIN_DIFFERENT} different characters`
  return findPeriod(secret) < MIN_PERIOD ? 'it repeats a short piece' : undefined
}

function utf8Length(text: string): number {
  let bytes = 0
  for (const character of text) {
    const code = character.codePointAt(0) as number
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4
  }
  return bytes
}

/** The length of the shortest part that yields the text when repeated (Knuth-Morris-Pratt failure function). */
function findPeriod(text: string): number {
  const borders = [0]
  let border = 0
  for (let at = 1; at < text.length; at++) {
    while (border > 0 && text[at] !== text[border]) border = borders[border - 1] as number
    if (text[at] === text[border]) border += 1
    borders.push(border)
  }
  return text.length - border
}
