import { expect, test } from 'vitest'
import { createToolResult } from './tool-result.ts'

const text = (value: string) => [{ type: 'text', text: value }]

test('a text is one block of text, the empty text too', () => {
  expect(createToolResult('hello', 'modern')).toEqual({ content: text('hello') })
  expect(createToolResult('', 'modern')).toEqual({ content: text('') })
})

test.each([[0], [false], [null], [[]], [[1, 2]]])('%j stays what it is in the modern era', (value) => {
  expect(createToolResult(value, 'modern')).toEqual({ content: text(JSON.stringify(value)), structuredContent: value })
})

test.each([[0], [false], [null], [[]]])(
  '%j is text alone in the legacy era, whose clients take only objects',
  (value) => {
    expect(createToolResult(value, 'legacy')).toEqual({ content: text(JSON.stringify(value)) })
  },
)

test('an object is structured content in both eras, and text for those who do not look there', () => {
  for (const era of ['legacy', 'modern'] as const)
    expect(createToolResult({ a: 1 }, era)).toEqual({ content: text('{"a":1}'), structuredContent: { a: 1 } })
})

test('nothing returned is an empty result', () => {
  expect(createToolResult(undefined, 'legacy')).toEqual({ content: [] })
})

test('a whole result passes as it is', () => {
  const result = { content: [{ type: 'image', data: 'AA==', mimeType: 'image/png' }], isError: true, _meta: { a: 1 } }
  expect(createToolResult(result, 'modern')).toBe(result)
})

test('an object that merely has a content field is a value', () => {
  const page = { content: ['first', 'second'] }
  expect(createToolResult(page, 'modern').structuredContent).toEqual(page)
})

test('a Date is what JSON makes of it', () => {
  expect(createToolResult(new Date(0), 'legacy')).toEqual({ content: text('"1970-01-01T00:00:00.000Z"') })
})

test('what JSON cannot carry is a bug', () => {
  expect(() => createToolResult(() => 1, 'modern')).toThrow(TypeError)
  expect(() => createToolResult(1n, 'modern')).toThrow(TypeError)
})
