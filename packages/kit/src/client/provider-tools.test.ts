import { expect, test } from 'vitest'
import { parseArguments } from './provider-tools.ts'

test.each([
  ['', {}],
  [' ', {}],
  ['{"a":1}', { a: 1 }],
  ['{"a":', undefined],
  [`{"a":${'['.repeat(200)}${']'.repeat(200)}}`, undefined],
])('parses the arguments of a model up to a depth, otherwise returns undefined: %s', (text, value) => {
  expect(parseArguments(text)).toEqual(value)
})
