import { describe, expect, it } from 'vitest'
import { formatMismatch, formatOptions, formatViolations, unknownKeyViolation } from './violation.ts'

const formatMessage = (value: string | number, path: readonly (string | number)[] = ['x']): string =>
  formatMismatch('fine', value, path)

describe('a value in a message', () => {
  it('is shown if it is a short word', () => {
    expect(formatMessage('ten')).toBe('must be fine and is "ten"')
    expect(formatMessage(10)).toBe('must be fine and is 10')
  })

  it.each([
    ['a key', 'AKIAIOSFODNN7EXAMPLE'],
    ['a token', 'ghp_a1b2c3d4e5f6g7h8'],
    ['a key in a sentence', 'use sk-ant-a1b2c3'],
    ['a long text', 'words and words and words and words'],
  ])('never shows %s', (_, secret) => {
    expect(formatMessage(secret)).toBe(`must be fine and is a string of ${secret.length} characters`)
  })

  it.each(['password', 'apiKey', 'access_token', 'client_secret', 'Authorization', 'pin'])(
    'never shows a value under %s',
    (name) => {
      expect(formatMessage('hunter', [name])).toBe('must be fine and is a string of 6 characters')
      expect(formatMessage(1234, ['login', name, 0])).toBe('must be fine and is a number')
    },
  )

  it('cannot fake a line or control a terminal', () => {
    const text = formatViolations([{ path: ['a\n\u001b[31mb'], message: formatMessage('x\u2028y') }])
    expect(text).toBe('["a\\n\\u001b[31mb"] must be fine and is "x\\u2028y"')
  })
})

describe('formatViolations', () => {
  it('lists five violations, and says that there are more', () => {
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

describe('unknownKeyViolation', () => {
  it('suggests a similar key', () => {
    expect(unknownKeyViolation(['querry'], ['limit', 'query']).message).toBe(
      'is not known there (did you mean "query"?)',
    )
  })

  it('lists the known keys if none is similar', () => {
    expect(unknownKeyViolation(['colour'], ['limit', 'query']).message).toBe(
      'is not known there (known: "limit", "query")',
    )
  })

  it('does not compare very many or very long keys', () => {
    const names = Array.from({ length: 100_000 }, (_, index) => `name${index}`)
    expect(unknownKeyViolation(['x'.repeat(1_000_000)], names).message).toMatch(
      /^is not known there \(known: "name0".*100000 in all\)\)$/,
    )
  })
})

describe('formatOptions', () => {
  it('shows the first options, each shortened', () => {
    expect(formatOptions(['a'.repeat(100), { b: [1] }, null])).toBe(`one of "${'a'.repeat(40)}…", {"b":[1]}, null`)
    expect(formatOptions([...Array(20).keys()])).toBe('one of 0, 1, 2, 3, 4, 5, 6, 7, … (20 in all)')
  })
})
