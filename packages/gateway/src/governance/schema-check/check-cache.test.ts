import { describe, expect, it } from 'vitest'
import { CheckCache } from './check-cache.ts'

const check = { check: (): undefined => undefined }

describe('cached checks', () => {
  it('are removed by size, the least recently used first', () => {
    const cache = new CheckCache()
    cache.set('a', check, 900_000)
    cache.set('b', check, 900_000)
    expect(cache.get('a')).toBe(check)
    cache.set('c', check, 900_000)
    expect([cache.get('a'), cache.get('b'), cache.get('c')]).toEqual([check, undefined, check])
  })

  it('are limited in number, however small they are', () => {
    const cache = new CheckCache()
    for (let index = 0; index < 600; index++) cache.set(`${index}`, check, 10)
    expect(cache.get('99')).toBeUndefined()
    expect(cache.get('100')).toBe(check)
  })
})
