import { expect, it } from 'vitest'
import { revealText } from './reveal-text.ts'

const codesIn = (text: string): readonly string[] =>
  revealText(text).flatMap((piece) => (piece.kind === 'plain' ? [] : [`${piece.kind} ${piece.code}`]))

it('leaves usual text of any language as it is', () => {
  for (const text of [
    '',
    'read_file',
    'a\tb\nc',
    'Größe',
    'Привет, мир',
    '日本語の説明',
    'שלום',
    'γεια',
    '👩‍👩‍👧 ❤️ 👍🏽',
  ])
    expect(codesIn(text), text).toEqual([])
})

it.each([
  ['a mark that turns the direction', 'exe\u202efdp', 'U+202E'],
  ['an isolate', '\u2066x', 'U+2066'],
  ['a terminal sequence', '\u001b[31mred', 'U+001B'],
  ['a carriage return', 'visible\rhidden', 'U+000D'],
  ['a character of no width', 'pay\u200bpal', 'U+200B'],
  ['a byte order mark', '\ufeffname', 'U+FEFF'],
  ['a blank that is not a space', 'a\u00a0b', 'U+00A0'],
  ['a filler', 'a\u3164b', 'U+3164'],
  ['a tag, of which whole texts can be made', 'a\u{e0041}b', 'U+E0041'],
  ['a variation selector after a letter', 'a\u{e0100}', 'U+E0100'],
  ['a lone joiner', 'a\u200db', 'U+200D'],
  ['half of a pair', 'a\ud800b', 'U+D800'],
  ['a private character', '\ue000', 'U+E000'],
])('shows %s', (_name, text, code) => {
  expect(codesIn(text)).toEqual([`hidden ${code}`])
})

it('shows a foreign letter inside a Latin word, and in a name with digits or underscores', () => {
  expect(codesIn('p\u0430ypal')).toEqual(['lookalike U+0430'])
  expect(codesIn('\u0440\u0435\u0430d_file')).toEqual(['lookalike U+0440', 'lookalike U+0435', 'lookalike U+0430'])
  expect(codesIn('run_\uff52\uff4d')).toEqual(['lookalike U+FF52', 'lookalike U+FF4D'])
})

it('loses nothing', () => {
  const text = 'a\u202eb\u200b👩‍👧 \ud800 p\u0430y\n'
  expect(
    revealText(text)
      .map(({ text: piece }) => piece)
      .join(''),
  ).toBe(text)
})
