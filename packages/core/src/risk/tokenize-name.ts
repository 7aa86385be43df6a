/** Letters of other scripts that look like Latin ones: `dеlete` with a Cyrillic е looks like delete. */
const LOOKALIKES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    а: 'a',
    ɑ: 'a',
    α: 'a',
    в: 'b',
    с: 'c',
    ϲ: 'c',
    ԁ: 'd',
    е: 'e',
    ё: 'e',
    ε: 'e',
    ɡ: 'g',
    һ: 'h',
    н: 'h',
    і: 'i',
    ı: 'i',
    ι: 'i',
    ј: 'j',
    к: 'k',
    κ: 'k',
    ӏ: 'l',
    ⅼ: 'l',
    м: 'm',
    ո: 'n',
    η: 'n',
    о: 'o',
    ο: 'o',
    օ: 'o',
    р: 'p',
    ρ: 'p',
    ԛ: 'q',
    г: 'r',
    ѕ: 's',
    т: 't',
    τ: 't',
    υ: 'u',
    ս: 'u',
    ν: 'v',
    ѵ: 'v',
    ԝ: 'w',
    х: 'x',
    χ: 'x',
    у: 'y',
    γ: 'y',
    ᴢ: 'z',
  }),
)

/** Single characters that mean whole phrases: normalizing them would make a text up to 18 times as long. */
const PHRASE_SIGNS = /[\ufdf0-\ufdfd]/g

/** The text as a person sees it: compatibility forms and accents are normalized, invisible characters removed. */
export function normalizeLookalikes(text: string): string {
  if (isPrintableAscii(text)) return text
  const folded = text.replaceAll(PHRASE_SIGNS, ' ').normalize('NFKD')
  return folded.replaceAll(/[\p{M}\p{Cf}]/gu, '').replaceAll(/[^\0-\x7f]/gu, (char) => {
    const latin = LOOKALIKES.get(char.toLowerCase())
    if (latin === undefined) return char
    return char === char.toLowerCase() ? latin : latin.toUpperCase()
  })
}

/** Whether it is printable ASCII only, so that it cannot contain lookalikes. */
export const isPrintableAscii = (text: string): boolean => /^[\x20-\x7e]*$/.test(text)

/** The edges between `get` and `URL`, between `URL` and `For`, and around numbers. */
const CAMEL_EDGE = /(?<=[\p{Ll}\p{Lo}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})|(?<=\p{L})(?=\p{N})|(?<=\p{N})(?=\p{L})/u

/** The words of a name in lower case, in any naming style. */
export function tokenizeName(name: string): readonly string[] {
  return normalizeLookalikes(name)
    .split(/[^\p{L}\p{N}]+/u)
    .flatMap((word) => word.split(CAMEL_EDGE))
    .filter((token) => token !== '')
    .map((token) => token.toLowerCase())
}
