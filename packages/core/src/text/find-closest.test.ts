import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { didYouMean, findClosest } from './find-closest.ts'

describe('the most similar name', () => {
  it('is found for a typo', () => {
    const names = ['serve', 'servers', 'tools', 'token']
    expect(findClosest('sevre', names)).toBe('serve')
    expect(findClosest('tool', names)).toBe('tools')
    expect(findClosest('tokne', names)).toBe('token')
  })

  it('ignores case, hyphens, underscores and spaces', () => {
    expect(findClosest('Max-Body Bytes', ['min_body', 'max_body_bytes'])).toBe('max_body_bytes')
  })

  it('is undefined if none is similar', () => {
    expect(findClosest('approve', ['serve', 'tools'])).toBeUndefined()
    expect(findClosest('x', [])).toBeUndefined()
    expect(didYouMean('approve', ['serve'])).toBe('')
  })

  it('is suggested as a question', () => {
    expect(didYouMean('serv', ['serve'])).toBe(' Did you mean "serve"?')
  })

  it('is the name itself where it is among the candidates, and otherwise one of them', () => {
    const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength: 6 })
    fc.assert(
      fc.property(word, fc.array(word), (typed, names) => {
        expect(findClosest(typed, [...names, typed])).toBe(typed)
        const found = findClosest(typed, names)
        expect(found === undefined || names.includes(found)).toBe(true)
      }),
    )
  })

  it('is found quickly, however long the typed text is', { timeout: 5_000 }, () => {
    expect(findClosest('x'.repeat(1_000_000), ['serve', 'x'.repeat(256)])).toBeUndefined()
  })
})
