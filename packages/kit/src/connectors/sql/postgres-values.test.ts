import { expect, test } from 'vitest'
import { findPostgresType, toPostgresParameter } from './postgres-values.ts'

test.each([
  [1007, '{}', []],
  [1007, '{1,NULL,-3}', [1, null, -3]],
  [
    1007,
    '{{1,2},{3,4}}',
    [
      [1, 2],
      [3, 4],
    ],
  ],
  [1007, '[0:1]={5,6}', '[0:1]={5,6}'],
  [1009, '{"",NULL,"NULL",a b,"{,}","\\\\\\""}', ['', null, 'NULL', 'a b', '{,}', '\\"']],
  [1000, '{t,f}', [true, false]],
  [3807, '{"{\\"a\\": 1}",NULL}', [{ a: 1 }, null]],
  [3802, '{"n": 0.1, "s": "12345678901234567890"}', { n: 0.1, s: '12345678901234567890' }],
  [3802, '{"n": 12345678901234567890}', '{"n": 12345678901234567890}'],
  [3802, '[0.10000000000000000001]', '[0.10000000000000000001]'],
  [701, '-Infinity', '-Infinity'],
  [1700, '1.10', '1.10'],
  [999_999, '(1,2)', '(1,2)'],
])('type %i: %s', (type, text, value) => {
  expect(findPostgresType(type).read(text)).toEqual(value)
})

test('deeply nested JSON stays a string', () => {
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
  expect(findPostgresType(114).read(deep)).toBe(deep)
})

test('parameters are sent as strings that the server converts to its types', () => {
  expect([null, true, 1.5, 'x', { a: [1] }].map(toPostgresParameter)).toEqual([null, 'true', '1.5', 'x', '{"a":[1]}'])
})
