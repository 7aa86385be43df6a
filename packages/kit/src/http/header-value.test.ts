import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { decodeHeaderValue, encodeHeaderValue } from './header-value.ts'

describe(`a string in a header (${promise('GW-17')})`, () => {
  it.each([
    ['us-west1', 'us-west1'],
    ['file:///a b?c=d', 'file:///a b?c=d'],
    ['Hello, 世界', '=?base64?SGVsbG8sIOS4lueVjA==?='],
    [' padded ', '=?base64?IHBhZGRlZCA=?='],
    ['line1\nline2', '=?base64?bGluZTEKbGluZTI=?='],
    ['=?base64?eA==?=', '=?base64?PT9iYXNlNjQ/ZUE9PT89?='],
  ])('writes %j as %s', (value, written) => {
    expect(encodeHeaderValue(value)).toBe(written)
  })

  it('is decoded unchanged, and its encoding contains only bytes that HTTP preserves', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (value) => {
        const written = encodeHeaderValue(value)
        expect(written).toMatch(/^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/)
        expect(decodeHeaderValue(written)).toBe(value)
      }),
    )
  })

  it.each(['SGVsbG8=', '=?base64?SGVsbG8=', 'SGVsbG8=?=', '=?BASE64?SGVsbG8=?=', '=?base64?=', 'a\tb', ''])(
    'uses %j unchanged',
    (value) => {
      expect(decodeHeaderValue(value)).toBe(value)
    },
  )

  it.each([
    ['missing padding', '=?base64?SGVsbG8?='],
    ['characters that are not base64', '=?base64?SGVs!!!bG8=?='],
    ['bits after the end', '=?base64?SGVsbG9=?='],
    ['invalid UTF-8', '=?base64?/////w==?='],
    ['bytes beyond ASCII', 'R\u00e9gion'],
    ['a control character', 'a\u0001b'],
  ])('returns undefined for %s', (_what, value) => {
    expect(decodeHeaderValue(value)).toBeUndefined()
  })
})
