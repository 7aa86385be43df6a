import { expect, it } from 'vitest'
import { diffLines } from './line-change.ts'

it.each([
  ['a\nb\nc\n', 'a\nB\nc\n', { line: 2, removed: ['b'], added: ['B'] }],
  ['a\r\nb\r\n', 'a\r\nb\r\nc\r\n', { line: 3, removed: [], added: ['c'] }],
  ['a\na\n', 'a\na\na\n', { line: 3, removed: [], added: ['a'] }],
  ['', 'a', { line: 1, removed: [''], added: ['a'] }],
  ['a\nb', 'a\nb', { line: 3, removed: [], added: [] }],
])('the change of %j into %j is shown as whole lines', (before, after, change) => {
  expect(diffLines('tools.yaml', before, after)).toEqual({ file: 'tools.yaml', ...change })
})
