import { describe, expect, it } from 'vitest'
import { hasMoreParts } from './json.ts'

describe('hasMoreParts', () => {
  it('counts every value, the whole among them', () => {
    const value = { a: [1, 'two', null], b: { c: true } }
    expect(hasMoreParts(value, 7)).toBe(false)
    expect(hasMoreParts(value, 6)).toBe(true)
    expect(hasMoreParts('text', 1)).toBe(false)
  })

  it('looks no further than it has to', () => {
    const trap = new Proxy([], { ownKeys: () => expect.fail('it was looked into') })
    expect(hasMoreParts([1, 2, 3, trap], 3)).toBe(true)
  })
})
