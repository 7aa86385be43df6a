import { describe, expect, it } from 'vitest'
import { CheckCache } from './check-cache.ts'

const check = { check: (): undefined => undefined }

describe('kept checks', () => {
  it('make room for new ones by their size, those first that were not needed for longest', () => {
    const kept = new CheckCache()
    kept.set('a', check, 900_000)
    kept.set('b', check, 900_000)
    expect(kept.get('a')).toBe(check)
    kept.set('c', check, 900_000)
    expect([kept.get('a'), kept.get('b'), kept.get('c')]).toEqual([check, undefined, check])
  })

  it('are not too many, however small', () => {
    const kept = new CheckCache()
    for (let index = 0; index < 600; index++) kept.set(`${index}`, check, 10)
    expect(kept.get('99')).toBeUndefined()
    expect(kept.get('100')).toBe(check)
  })
})
