import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { cutAfter, cutBefore, cutMiddleAndCount, formatCount } from './safe-cut.ts'

const lone = /\p{Surrogate}/u
const PAIRS = ['😀', '👨‍👩‍👧‍👦', '🇫🇷', 'é', '\r\n', 'a', '\u{1d165}'] as const

describe(`${promise('ISO-15')}: a cut`, () => {
  it('is between graphemes, at or next to the requested position', () => {
    const pieces = fc.array(fc.constantFrom(...PAIRS.slice(0, 6)), { minLength: 1, maxLength: 60 })
    const starts = (text: string): ReadonlySet<number> =>
      new Set([...new Intl.Segmenter('und').segment(text)].map(({ index }) => index).concat(text.length))
    fc.assert(
      fc.property(pieces, fc.nat(400), (parts, place) => {
        const text = parts.join('')
        const at = Math.min(place, text.length)
        expect(cutBefore(text, at)).toBe(Math.max(...[...starts(text)].filter((start) => start <= at)))
        expect(cutAfter(text, at)).toBe(Math.min(...[...starts(text)].filter((start) => start >= at)))
      }),
    )
  })

  it('splits no surrogate pair even if a grapheme never ends', () => {
    // Musical stems combine with the character before them, and each is a surrogate pair.
    const endless = `a${'\u{1d165}'.repeat(500)}`
    for (let at = 300; at < 310; at++) {
      expect(lone.test(endless.slice(0, cutBefore(endless, at)))).toBe(false)
      expect(lone.test(endless.slice(cutAfter(endless, at)))).toBe(false)
      expect(cutBefore(endless, at)).toBeGreaterThan(at - 2)
    }
  })

  it('in the middle preserves both ends, counts correctly and respects the length', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 900 }), fc.integer({ min: 60, max: 500 }), (text, most) => {
        const { text: cut, omitted } = cutMiddleAndCount(text, most)
        expect(cut.length).toBeLessThanOrEqual(Math.max(most, 0))
        const [head, tail] = cut.split(` … ${formatCount(omitted, 'character')} omitted … `)
        if (omitted === 0) return
        expect(text.startsWith(head ?? '') && text.endsWith(tail ?? '')).toBe(true)
        expect((head ?? '').length + (tail ?? '').length + omitted).toBe(text.length)
      }),
    )
  })
})
