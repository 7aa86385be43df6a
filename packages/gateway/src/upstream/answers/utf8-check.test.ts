import { isUtf8 } from 'node:buffer'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Utf8Check } from './utf8-check.ts'

function check(bytes: Buffer, cuts: readonly number[]): boolean {
  const subject = new Utf8Check()
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]
  for (let at = 1; at < places.length; at++) subject.feed(bytes.subarray(places[at - 1], places[at]))
  return subject.end()
}

describe('Utf8Check', () => {
  it('agrees with a check of the whole text, however valid text is split', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.array(fc.nat()), (text, cuts) => {
        expect(check(Buffer.from(text), cuts)).toBe(true)
      }),
    )
  })

  it('agrees with a check of all bytes, however arbitrary bytes are split', () => {
    const byte = fc.constantFrom(0x41, 0x80, 0xbf, 0xc2, 0xe2, 0xed, 0xa0, 0xf0, 0x9f, 0xf4, 0xf5, 0xff)
    fc.assert(
      fc.property(fc.array(byte, { maxLength: 12 }), fc.array(fc.nat()), (bytes, cuts) => {
        expect(check(Buffer.from(bytes), cuts)).toBe(isUtf8(Buffer.from(bytes)))
      }),
      { numRuns: 2_000 },
    )
  })

  it('refuses a text that ends inside a character', () => {
    expect(check(Buffer.from('€').subarray(0, 2), [1])).toBe(false)
  })
})
