import fc from 'fast-check'
import { expect, test } from 'vitest'
import { toProviderNames } from './provider-names.ts'

test('all shown names are accepted and unique, and accepted names stay unchanged', () => {
  const name = fc.oneof(
    fc.string({ maxLength: 80 }),
    fc.constantFrom('a.b', 'a b', 'a_b', 'a/b', 'x'.repeat(64), 'x'.repeat(65), '', '__proto__', 'é', '😀'),
  )
  fc.assert(
    fc.property(fc.uniqueArray(name, { maxLength: 12 }), (names) => {
      const shown = toProviderNames(names)
      expect(new Set(shown.values()).size).toBe(names.length)
      for (const [own, provider] of shown) {
        expect(provider).toMatch(/^[a-zA-Z0-9_-]{1,64}$/)
        if (/^[a-zA-Z0-9_-]{1,64}$/.test(own)) expect(provider).toBe(own)
      }
    }),
  )
})

test('a tool with the same name as another’s replacement does not replace it', () => {
  const [replaced = ''] = toProviderNames(['a.b']).values()
  const both = toProviderNames(['a.b', replaced])
  expect(both.get(replaced)).toBe(replaced)
  expect(both.get('a.b')).not.toBe(replaced)
})
