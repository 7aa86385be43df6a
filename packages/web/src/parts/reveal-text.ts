/** A piece of a foreign text: as it is, or characters that a reader would not see or would take for other ones. */
export type TextPiece =
  | { readonly kind: 'plain'; readonly text: string }
  | { readonly kind: 'hidden' | 'lookalike'; readonly text: string; readonly code: string }

/**
 * Characters without a shape of their own: controls, marks that change the direction of text, characters of no width,
 * fillers, blanks that are not the usual space, tags, private and unassigned ones, half of a pair.
 */
const HIDDEN = new RegExp(
  [
    '[\\p{Cc}\\p{Cf}\\p{Co}\\p{Cn}\\p{Cs}\\p{Zl}\\p{Zp}]',
    '[\\u{a0}\\u{2000}-\\u{200a}\\u{202f}\\u{205f}\\u{3000}]',
    '[\\u{34f}\\u{115f}\\u{1160}\\u{17b4}\\u{17b5}\\u{3164}\\u{ffa0}\\u{2800}]',
    '[\\u{fe00}-\\u{fe0f}\\u{e0100}-\\u{e01ef}]',
  ].join('|'),
  'u',
)

/** Line breaks and tabs are laid out; emoji are joined and coloured by characters that are hidden elsewhere. */
const LAID_OUT = /^[\n\t]$/
const EMOJI_PARTS = /\p{Extended_Pictographic}(?:\ufe0f|\u200d|[\u{1f3fb}-\u{1f3ff}]|\p{Extended_Pictographic})*/gu

const WORD = /[\p{L}\p{M}\p{N}_]+/gu
const LATIN = /\p{Script=Latin}/u
/** Scripts with letters that look like Latin ones, and Latin letters in other shapes. */
const LOOKALIKE =
  /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}\p{Script=Lisu}\u{ff01}-\u{ff5e}\u{1d400}-\u{1d7ff}\u{131}\u{1c0}\u{251}\u{261}]/u

const formatCode = (character: string): string =>
  `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`

/** Splits a text into what can be shown as it is, and what has to be pointed out. */
export function revealText(text: string): readonly TextPiece[] {
  // Nearly every text is plain: this is its fast path.
  if (/^[\n\t\x20-\x7e]*$/.test(text)) return text === '' ? [] : [{ kind: 'plain', text }]
  const [emoji, mixed, stacks] = [findEmoji(text), findMixedWords(text), findStacks(text)]
  const pieces = new Pieces()
  let index = 0
  let skipped = 0
  for (const character of text) {
    const stack = stacks.get(index)
    if (stack !== undefined) {
      pieces.addStack(stack)
      skipped = index + stack.length
    }
    if (index >= skipped)
      pieces.add(classify(character, { isEmoji: emoji.has(index), isMixed: mixed.has(index) }), character)
    index += character.length
  }
  return pieces.end()
}

/** Joins what is plain, and equal characters that follow each other: a hundred thousand boxes would not be usable. */
class Pieces {
  readonly #pieces: TextPiece[] = []
  #kind: TextPiece['kind'] = 'plain'
  #text = ''
  #character = ''
  #count = 0

  add(kind: TextPiece['kind'], character: string): void {
    if (kind !== this.#kind || (kind !== 'plain' && character !== this.#character)) this.#flush()
    this.#kind = kind
    this.#text += character
    this.#character = character
    this.#count++
  }

  addStack(text: string): void {
    this.#flush()
    this.#pieces.push({ kind: 'hidden', text, code: `${[...text].length} more marks` })
  }

  end(): readonly TextPiece[] {
    this.#flush()
    return this.#pieces
  }

  #flush(): void {
    const [kind, text] = [this.#kind, this.#text]
    if (text === '') return
    const code = `${formatCode(this.#character)}${this.#count > 1 ? ` × ${this.#count}` : ''}`
    this.#pieces.push(kind === 'plain' ? { kind, text } : { kind, text, code })
    this.#text = ''
    this.#count = 0
  }
}

/** The same for attributes, such as names for screen readers, where there is only text. */
export const toVisibleText = (text: string): string =>
  revealText(text)
    .map((piece) =>
      piece.kind === 'plain'
        ? piece.text
        : piece.kind === 'hidden'
          ? `[${piece.code}]`
          : `${piece.text}[${piece.code}]`,
    )
    .join('')

function classify(
  character: string,
  { isEmoji, isMixed }: { readonly isEmoji: boolean; readonly isMixed: boolean },
): TextPiece['kind'] {
  if (LAID_OUT.test(character) || isEmoji) return 'plain'
  if (HIDDEN.test(character)) return 'hidden'
  return isMixed && LOOKALIKE.test(character) ? 'lookalike' : 'plain'
}

/** Only sequences that begin with a picture: a lone joiner or selector is hidden text. */
const findEmoji = (text: string): ReadonlySet<number> => collectIndexes(text.matchAll(EMOJI_PARTS))

/** A word of one foreign script is a word of a language; mixed with Latin, or beside it in a name, it may be a trick. */
function findMixedWords(text: string): ReadonlySet<number> {
  const words = [...text.matchAll(WORD)].filter(([word]) => LOOKALIKE.test(word))
  return collectIndexes(words.filter(([word]) => LATIN.test(word) || /[\d_]/.test(word)))
}

/** A letter of any language has a few marks. With hundreds it covers other lines, and cannot be broken. */
const STACK = /(?<=\p{M}{4})\p{M}+/gu

const findStacks = (text: string): ReadonlyMap<number, string> =>
  new Map([...text.matchAll(STACK)].map(({ 0: match, index }) => [index, match]))

function collectIndexes(matches: Iterable<RegExpMatchArray>): ReadonlySet<number> {
  const indexes = new Set<number>()
  for (const { 0: match, index = 0 } of matches) for (let at = 0; at < match.length; at++) indexes.add(index + at)
  return indexes
}
