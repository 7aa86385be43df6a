import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../tests/promises.ts'
import { isServerId, slugServerId } from './server-id.ts'

describe(`server ids (${promise('GW-13')})`, () => {
  it('are lower-case words with single hyphens between them', () => {
    for (const id of ['a', '1', 'my-db', 'a1-b2-c3', 'x'.repeat(40)]) expect(isServerId(id), id).toBe(true)
    for (const id of ['', '-a', 'a-', 'a--b', 'A', 'a_b', 'a.b', 'a b', 'ä', 'a\n', '__proto__', 'x'.repeat(41)]) {
      expect(isServerId(id), JSON.stringify(id)).toBe(false)
    }
  })

  it('are made from any names', () => {
    expect(slugServerId('GitHub Copilot')).toBe('git-hub-copilot')
    expect(slugServerId('myDatabase')).toBe('my-database')
    expect(slugServerId('Café_é.com')).toBe('cafe-e-com')
    expect(slugServerId('../../etc')).toBe('etc')
    expect(slugServerId('日本語')).toBe('')
    expect(slugServerId(`${'a'.repeat(39)} b`)).toBe('a'.repeat(39))
  })

  it('are valid as slugs, unless the name has no usable character', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 100 }), (name) => {
        const slug = slugServerId(name)
        expect(slug === '' || isServerId(slug)).toBe(true)
      }),
    )
  })

  it('are their own slugs', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z0-9]{1,5}(-[a-z0-9]{1,5}){0,3}$/), (id) => {
        expect(slugServerId(id)).toBe(id)
      }),
    )
  })
})
