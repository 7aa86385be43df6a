import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readPlainLine } from './plain-line.ts'
import { yaml12 } from './yaml-oracle.test-kit.ts'

const PARTS = [
  ...[
    'a',
    'low',
    'true',
    'False',
    'NULL',
    'yes',
    '0',
    '10',
    '007',
    '1e3',
    '0x1f',
    '.5',
    '-',
    '--',
    '~',
    '?',
    '*',
    '&',
    '!',
  ],
  ...[
    '"',
    '""',
    '"a"',
    '\\',
    '\\n',
    '\\u0041',
    '\\U0001f600',
    '\\x41',
    "'",
    "''",
    "'a'",
    '[',
    ']',
    '[]',
    ', ',
    ',',
    '{',
    '}',
  ],
  ...[
    ':',
    ': ',
    '#',
    ' #',
    ' # ',
    ' ',
    '  ',
    '\t',
    '/',
    '.',
    '/**',
    '%',
    '@',
    '`',
    '|',
    '>',
    '=',
    '<<',
    'é',
    '\u2028',
    '\u0085',
  ],
]

const line = fc
  .tuple(
    fc.constantFrom('note', 'a', 'true', 'y', 'x_1'),
    fc.constantFrom(': ', ':', ':  '),
    fc.array(fc.constantFrom(...PARTS), { maxLength: 8 }),
  )
  .map(([key, colon, parts]) => key + colon + parts.join(''))

describe('a simple line', () => {
  it('has the same meaning as for the parser', () => {
    let plain = 0
    const check = (text: string): void => {
      const read = readPlainLine(text)
      if (read === undefined) return
      plain++
      expect(yaml12(text)).toEqual({ value: { [read.key]: read.value } })
      expect(yaml12(`  ${text}\n`)).toEqual({ value: { [read.key]: read.value } })
      const written = text.slice(read.from, read.to)
      expect(yaml12(written === '' ? '~' : written)).toEqual({ value: read.value })
    }
    void fc.assert(fc.property(line, check), { numRuns: 5_000 })
    expect(plain).toBeGreaterThan(500)
  })

  it.each([
    'a: "b',
    "a: 'b''c'",
    'a: [b, c',
    'a: {b: c}',
    'a: b: c',
    'a: *b',
    'a: &b c',
    'a: |',
    'a:b',
    'a : b',
    'a: b\t',
    '? a',
    '- a',
    'null: a',
    '"a": b',
    'a: 007',
  ])('is not: %s', (text) => {
    expect(readPlainLine(text)).toBeUndefined()
  })
})
