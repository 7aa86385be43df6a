import { cutText, toPlainText, toVisibleText } from '@sallyport/core'
import { describe, expect, it } from 'vitest'

describe('toVisibleText', () => {
  it('escapes controls, line separators and direction overrides', () => {
    expect(toVisibleText('a\u0000b\rc\u2028d\u202ee\u009b')).toBe('a\\u0000b\\u000dc\\u2028d\\u202ee\\u009b')
  })

  it('escapes invisible tags beyond the basic plane', () => {
    expect(toVisibleText('a\u{e0041}')).toBe('a\\u{e0041}')
  })

  it.each(['\u3164', '\u115f', '\uffa0', '\u034f', '\ufe0f', '\u2800', '\u200b', '\u061c'])(
    'writes out %j, which is drawn as nothing',
    (char) => {
      expect(toVisibleText(`a${char}b`)).toBe(`a\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}b`)
    },
  )

  it('does not change ordinary text of any script', () => {
    expect(toVisibleText('Grüße\tпривет 你好 😀')).toBe('Grüße\tпривет 你好 😀')
  })
})

describe('toPlainText', () => {
  it('removes colors, cursor moves and window titles', () => {
    expect(toPlainText('\u001b[1;31mred\u001b[0m \u001b[2J\u001b]0;title\u0007after')).toBe('red after')
  })

  it('shows an unterminated sequence', () => {
    expect(toPlainText('\u001b]0;title')).toBe('\\u001b]0;title')
  })
})

describe('cutText', () => {
  it('does not split a character', () => {
    expect(cutText('ab😀cd', 3)).toBe('ab…')
    expect(cutText('abc', 3)).toBe('abc')
  })
})
