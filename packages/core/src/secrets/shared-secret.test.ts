import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { findWeakness } from './shared-secret.ts'

const hex = (minBytes: number) =>
  fc.uint8Array({ minLength: minBytes, maxLength: 64 }).map((bytes) => Buffer.from(bytes).toString('hex'))

describe('a shared key', () => {
  it.each([
    ['', 'it has 0 bytes; expected at least 32'],
    ['changeme', 'it has 8 bytes; expected at least 32'],
    ['é'.repeat(15), 'it has 30 bytes; expected at least 32'],
    ['x'.repeat(32), 'it has fewer than 8 different characters'],
    ['0123456'.repeat(9), 'it has fewer than 8 different characters'],
    ['changeme1'.repeat(4), 'it repeats a short piece'],
    ['password-12345'.repeat(3).slice(0, 33), 'it repeats a short piece'],
  ])('%j is refused', (secret, weakness) => {
    expect(findWeakness(secret, 32)).toBe(weakness)
  })

  it('is refused if it repeats fewer than 16 bytes, even with an incomplete last part', () => {
    const piece = fc.string({ minLength: 1, maxLength: 15, unit: 'grapheme-ascii' })
    fc.assert(
      fc.property(piece, fc.integer({ min: 32, max: 200 }), (text, length) => {
        expect(findWeakness(text.repeat(200).slice(0, length), 32)).toBeDefined()
      }),
    )
  })

  it('of 16 random bytes or more, in hex, is accepted', () => {
    fc.assert(
      fc.property(hex(16), (secret) => {
        fc.pre(new Set(secret).size >= 8 && secret.slice(0, 16) !== secret.slice(16, 32))
        expect(findWeakness(secret, 32)).toBeUndefined()
      }),
    )
  })

  it('can be required to be longer', () => {
    const secret = 'The quick brown fox jumps over the lazy dog'
    expect([32, 48].map((least) => findWeakness(secret, least))).toEqual([
      undefined,
      'it has 43 bytes; expected at least 48',
    ])
  })
})
