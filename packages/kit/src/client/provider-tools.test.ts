import { expect, test } from 'vitest'
import { parseArguments } from './provider-tools.ts'

test.each([
  ['', {}],
  [' ', {}],
  ['{"a":1}', { a: 1 }],
  ['{"a":', undefined],
  [`{"a":${'['.repeat(200)}${']'.repeat(200)}}`, undefined],
])('arguments that a model wrote are JSON of some levels, or nothing: %s', (text, value) => {
  expect(parseArguments(text)).toEqual(value)
})
