import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hasInexactNumber } from './inexact-number.ts'

describe('hasInexactNumber', () => {
  it.each(['12345678901234567891', '{"a":[9007199254740993]}', '0.1234567890123456789', '1e400', '1e-400', '-1e-400'])(
    'reports that %s would become another number',
    (json) => expect(hasInexactNumber(json)).toBe(true),
  )

  it.each([
    '1',
    '1.0',
    '-0',
    '0.10',
    '1E5',
    '1e21',
    '100000000000000000000',
    '"12345678901234567891"',
    '{"a\\"1":2.50}',
  ])('accepts %s', (json) => expect(hasInexactNumber(json)).toBe(false))

  it('accepts everything that JSON.stringify prints', () => {
    fc.assert(fc.property(fc.json(), (json) => !hasInexactNumber(JSON.stringify(JSON.parse(json)))))
  })
})
