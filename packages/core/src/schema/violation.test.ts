import { describe, expect, it } from 'vitest'
import { formatMismatch, formatOptions, formatViolations, unknownKeyViolation } from './violation.ts'

const said = (value: string | number, path: readonly (string | number)[] = ['x']): string =>
  formatMismatch('fine', value, path)

describe('what is told of a value', () => {
  it('is the value where that is short and a word', () => {
    expect(said('ten')).toBe('must be fine and is "ten"')
    expect(said(10)).toBe('must be fine and is 10')
  })

  it.each([
    ['a key', 'AKIAIOSFODNN7EXAMPLE'],
    ['a token', 'ghp_a1b2c3d4e5f6g7h8'],
    ['a key in a sentence', 'use sk-ant-a1b2c3'],
    ['a long text', 'words and words and words and words'],
  ])('is never %s', (_, secret) => {
    expect(said(secret)).toBe(`must be fine and is a string of ${secret.length} characters`)
  })

  it.each(['password', 'apiKey', 'access_token', 'client_secret', 'Authorization', 'pin'])(
    'is no value that stands under %s, nor one within it',
    (name) => {
      expect(said('hunter', [name])).toBe('must be fine and is a string of 6 characters')
      expect(said(1234, ['login', name, 0])).toBe('must be fine and is a number')
    },
  )

  it('cannot forge a line or act on a terminal', () => {
    const text = formatViolations([{ path: ['a\n\u001b[31mb'], message: said('x\u2028y') }])
    expect(text).toBe('["a\\n\\u001b[31mb"] must be fine and is "x\\u2028y"')
  })
})

describe('violationsText', () => {
  it('tells five things, and that there is more', () => {
    const violations = Array.from({ length: 7 }, (_, index) => ({
      path: ['list', index, 'name'],
      message: 'is missing',
    }))
    expect(formatViolations(violations)).toBe(
      'list[0].name is missing; list[1].name is missing; list[2].name is missing; list[3].name is missing; ' +
        'list[4].name is missing; and more',
    )
  })
})

describe('unknownKey', () => {
  it('says which key was meant', () => {
    expect(unknownKeyViolation(['querry'], ['limit', 'query']).message).toBe(
      'is not known there (did you mean "query"?)',
    )
  })

  it('says which keys there are when none is near', () => {
    expect(unknownKeyViolation(['colour'], ['limit', 'query']).message).toBe(
      'is not known there (known: "limit", "query")',
    )
  })

  it('does not compare what is endless', () => {
    const names = Array.from({ length: 100_000 }, (_, index) => `name${index}`)
    expect(unknownKeyViolation(['x'.repeat(1_000_000)], names).message).toMatch(
      /^is not known there \(known: "name0".*100000 in all\)\)$/,
    )
  })
})

describe('optionWords', () => {
  it('shows some of many options, and cuts each', () => {
    expect(formatOptions(['a'.repeat(100), { b: [1] }, null])).toBe(`one of "${'a'.repeat(40)}…", {"b":[1]}, null`)
    expect(formatOptions([...Array(20).keys()])).toBe('one of 0, 1, 2, 3, 4, 5, 6, 7, … (20 in all)')
  })
})
