import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hasMoreValues, isDeeperThan } from './json-value.ts'
import { isJsonDeeperThan } from './json-walk.ts'

describe('hasMoreValues', () => {
  it('counts every value, including the root', () => {
    const value = { a: [1, 'two', null], b: { c: true } }
    expect(hasMoreValues(value, 7)).toBe(false)
    expect(hasMoreValues(value, 6)).toBe(true)
    expect(hasMoreValues('text', 1)).toBe(false)
  })

  it('stops as early as possible', () => {
    const trap = new Proxy([], { ownKeys: () => expect.fail('it was looked into') })
    expect(hasMoreValues([1, 2, 3, trap], 3)).toBe(true)
  })
})

describe('isJsonDeeperThan', () => {
  it('agrees with isDeeperThan of the parsed value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ depthSize: 'large' }), fc.nat({ max: 6 }), (value, levels) => {
        expect(isJsonDeeperThan(JSON.stringify(value), levels)).toBe(isDeeperThan(value as never, levels))
      }),
    )
  })

  it('does not count brackets inside strings, also after escapes', () => {
    expect(isJsonDeeperThan(JSON.stringify(['[[[[', '\\"[[[', '{'.repeat(99), '\\']), 1)).toBe(false)
    expect(isJsonDeeperThan('"unfinished [[[[', 1)).toBe(false)
    expect(isJsonDeeperThan('['.repeat(1_000_000), 1_000)).toBe(true)
  })
})
