import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { estimateTokens, estimateToolTokens } from './estimate-tokens.ts'

const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)), maxLength: 200 }),
  fc.string({ unit: fc.constantFrom('a', 'B', '7', ' ', '\n', '"', '語', 'ß', '\ud83d'), maxLength: 200 }),
)

describe('the estimate of tokens', () => {
  it('is an integer for every text, and zero only for an empty one', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const tokens = estimateTokens(text)
        expect(Number.isSafeInteger(tokens)).toBe(true)
        expect(tokens > 0 || text.trim() === '').toBe(true)
      }),
    )
    expect(estimateTokens('')).toBe(0)
  })

  it('is at most three per character', () => {
    fc.assert(fc.property(anyText, (text) => estimateTokens(text) <= 3 * text.length))
  })

  it('hardly depends on where a text is split', () => {
    fc.assert(
      fc.property(anyText, anyText, (one, other) => {
        const parts = estimateTokens(one) + estimateTokens(other)
        expect(Math.abs(estimateTokens(one + other) - parts)).toBeLessThanOrEqual(4)
      }),
    )
  })

  it('is one for a common word, and many for random letters', () => {
    expect(estimateTokens('The file is read and its content returned')).toBe(8)
    expect(estimateTokens('qXzVwKjHpRtBnM')).toBeGreaterThan(6)
  })

  it('of a tool counts only what agents show to a model', () => {
    const shown = { name: 'x', description: 'Reads a file', inputSchema: { type: 'object' } }
    const cost = estimateToolTokens('files_read', shown)
    expect(
      estimateToolTokens('files_read', { ...shown, annotations: { title: 'A' }, outputSchema: { type: 'object' } }),
    ).toBe(cost)
    expect(
      estimateToolTokens('files_read', { ...shown, description: 'Reads a file, whole or in part' }),
    ).toBeGreaterThan(cost)
    expect(estimateToolTokens('files_read', {})).toBeGreaterThan(0)
  })
})
