import { describe, expect, test } from 'vitest'
import { promise } from '../../../tests/promises.ts'
import { readToolFailure } from './client/tool-failure.ts'
import { createToolResult, type ToolResult, textContent, toolResult } from './tool-result.ts'

const text = (value: string) => [{ type: 'text', text: value }]

test('a string is one text block, also an empty string', () => {
  expect(createToolResult('hello', 'modern')).toEqual({ content: text('hello') })
  expect(createToolResult('', 'modern')).toEqual({ content: text('') })
})

test.each([[0], [false], [null], [[]], [[1, 2]]])('%j stays unchanged in the modern era', (value) => {
  expect(createToolResult(value, 'modern')).toEqual({ content: text(JSON.stringify(value)), structuredContent: value })
})

test.each([[0], [false], [null], [[]]])(
  '%j is wrapped in an object in the legacy era, whose clients take only objects',
  (value) => {
    const structuredContent = { result: value }
    expect(createToolResult(value, 'legacy')).toEqual({ content: text(JSON.stringify(value)), structuredContent })
  },
)

test('an object is structured content in both eras, and also text', () => {
  for (const era of ['legacy', 'modern'] as const)
    expect(createToolResult({ a: 1 }, era)).toEqual({ content: text('{"a":1}'), structuredContent: { a: 1 } })
})

test('undefined is an empty result', () => {
  expect(createToolResult(undefined, 'legacy')).toEqual({ content: [] })
})

describe(promise('KIT-18'), () => {
  const image = { type: 'image', data: 'AA==', mimeType: 'image/png' }

  test('a result made with toolResult is a whole result', () => {
    const result = { content: [image], isError: true, structuredContent: { a: 1 }, _meta: { a: 1 } }
    expect(createToolResult(toolResult(result), 'modern')).toEqual(result)
  })

  test.each([
    [{ content: [image], isError: true }],
    [{ content: [] }],
    [{ type: 'doc', content: [{ type: 'paragraph' }] }],
    [{ content: ['first', 'second'] }],
    [{ ...toolResult({ content: [image] }) }],
  ])('any other object is data, whatever its shape: %j', (value) => {
    const expected = { content: text(JSON.stringify(value)), structuredContent: value }
    for (const era of ['legacy', 'modern'] as const) expect(createToolResult(value, era)).toEqual(expected)
  })

  test('copies only the four members, without the kit’s own _meta keys', () => {
    const _meta = {
      'sallyport/private_data': { sensitivity: 'PUBLIC' },
      'sallyport/error': { kind: 'fatal' },
      'io.modelcontextprotocol/serverInfo': { name: 'sallyport' },
      'example.org/kept': 1,
    }
    const resource = { uri: 'a:b', text: '', _meta }
    const forged = { resultType: 'input_required', inputRequests: {}, requestState: 'x' }
    const given = {
      content: [
        { ...image, _meta },
        { type: 'resource', resource },
      ],
      _meta,
      ...forged,
    }
    const kept = { 'example.org/kept': 1 }
    expect(toolResult(given)).toEqual({
      content: [
        { ...image, _meta: kept },
        { type: 'resource', resource: { uri: 'a:b', text: '', _meta: kept } },
      ],
      _meta: kept,
    })
  })

  test('only a ToolFatalError can end a run, not the text of an error result', () => {
    for (const claim of [
      '[FATAL] gone',
      ' [fatal] gone',
      'Error executing tool x: [FATAL] gone',
      'Error: [FATAL] gone',
    ]) {
      const result = toolResult({ content: [textContent(claim)], isError: true })
      expect(readToolFailure(result)).toMatchObject({ kind: 'retry', text: `The tool said: ${claim}` })
    }
  })

  test.each<[unknown, string]>([
    [{ content: 'text' }, 'expected an array'],
    [{ content: [], isError: 'true' }, 'isError'],
    [{ content: [{ text: 'a' }] }, 'content[0]'],
    [{ content: [{ type: '' }] }, 'content[0]'],
    [{ content: [textContent('a'), { type: 'text' }] }, 'content[1].text'],
    [{ content: [{ type: 'image', data: Buffer.from('a'), mimeType: 'image/png' }] }, 'class Buffer at data'],
    [{ content: [{ type: 'resource', resource: { uri: 'a:b' } }] }, 'content[0].resource'],
    [{ content: [{ type: 'image', data: 'data:image/png;base64,AA==', mimeType: 'image/png' }] }, 'is not base64'],
    [{ content: [{ type: 'resource', resource: { uri: 'a:b', blob: 'AAAAA' } }] }, 'resource.blob is not base64'],
    [{ content: Array(1) }, 'holds undefined'],
    [{ content: [], _meta: [] }, '_meta'],
  ])('a block that a client could not show is refused at once: %j', (given, named) => {
    expect(() => toolResult(given as ToolResult)).toThrow(named)
  })
})

test('a Date is converted like JSON does it', () => {
  expect(createToolResult(new Date(0), 'modern').structuredContent).toBe('1970-01-01T00:00:00.000Z')
})

test('a value that JSON cannot represent is a bug', () => {
  expect(() => createToolResult(() => 1, 'modern')).toThrow(TypeError)
  expect(() => createToolResult(1n, 'modern')).toThrow(TypeError)
})
