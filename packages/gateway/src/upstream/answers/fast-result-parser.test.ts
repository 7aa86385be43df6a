import { JsonScanner } from '@sallyport/core'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseFastResult } from './fast-result-parser.ts'

const parse = (text: string) => parseFastResult(Buffer.from(text))

function scanned(text: string) {
  const scanner = new JsonScanner(1_000)
  scanner.feed(Buffer.from(text))
  const envelope = scanner.end()
  if (!envelope) return undefined
  const { members: _, hasUnsafeNumber: __, resultMembers: ___, ...rest } = envelope
  // Nothing so short can be deep.
  return { ...rest, depth: 0 }
}

describe('an answer in the usual form', () => {
  it('has the same envelope as from a scan byte by byte, in both usual orders', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.nat(), (result, id) => {
        for (const text of [
          JSON.stringify({ jsonrpc: '2.0', id, result }),
          JSON.stringify({ result, jsonrpc: '2.0', id }),
        ]) {
          const plain = parse(text)
          if (plain) expect(plain).toEqual(scanned(text))
          else expect(Buffer.byteLength(text) > 2_000 || /\\\/|\\u00|sallyport/.test(text)).toBe(true)
        }
      }),
    )
  })

  it('is left to the full scan if the protocol does not allow one of its nulls', () => {
    expect(parse('{"jsonrpc":"2.0","id":7,"result":{"content":[],"isError":null}}')).toBeUndefined()
    expect(parse('{"jsonrpc":"2.0","id":7,"result":{"content":[],"other":null}}')).toBeDefined()
  })

  it.each([
    ['an error of the tool', '{"jsonrpc":"2.0","id":7,"result":{"isError":true,"content":[]}}', { isError: true }],
    ['a type', '{"result":{"resultType":"task"},"jsonrpc":"2.0","id":7}', { resultType: 'task', numericId: 7 }],
  ])('recognizes %s', (_what, text, expected) => {
    expect(parse(text)).toMatchObject(expected)
  })

  it.each([
    '{"jsonrpc":"2.0","id":7,"result":{},"id":8}',
    '{"jsonrpc":"2.0","id":7,"result":{},"id":7}',
    '{"jsonrpc":"2.0","id":7,"result":{},"method":"x"}',
    '{"result":{},"id":8,"jsonrpc":"2.0","id":7}',
    '{"result":{}},"jsonrpc":"2.0","id":7}',
    '{"jsonrpc":"2.0","id":7,"result":{}',
    '{"jsonrpc":"2.0","id":7,"result":{}}}',
    '{"jsonrpc":"2.0","id":7,"result":{}}\u0000',
    '{"jsonrpc":"2.0","id":7,"result":5}',
    '{"jsonrpc":"2.0","id":7,"result":[]}',
    '{"jsonrpc":"2.0","id":-7,"result":{}}',
    '{"jsonrpc":"2.0","id":7.5,"result":{}}',
    '{"jsonrpc":"2.0","id":07,"result":{}}',
    '{"result":{},"jsonrpc":"2.0","id":07}',
    '{"jsonrpc":"2.0","id":7777777777777777777,"result":{}}',
    '{"jsonrpc":"2.0","id":"7","result":{}}',
    '{"jsonrpc":"2.0","id":7,"error":{}}',
    '{"jsonrpc":"2.0","id":7,"result":{"a":"\n"}}',
    '{"jsonrpc":"2.0","id":7,\n"result":{}}',
    '{"jsonrpc":"2.0","id":7,"result": {}}',
    '{"jsonrpc":"2.0","id":7,"result":{} }',
    '{"result": {},"jsonrpc":"2.0","id":7}',
    '{"result":{}\t,"jsonrpc":"2.0","id":7}',
    `{"jsonrpc":"2.0","id":7,"result":{"a":${'['.repeat(1_000)}${']'.repeat(1_000)}}}`,
  ])('is not %s, which gets a full scan', (text) => {
    expect(parse(text)).toBeUndefined()
  })

  it('is not one with invalid UTF-8', () => {
    const bytes = Buffer.from('{"jsonrpc":"2.0","id":7,"result":{"a":"x"}}')
    bytes[bytes.indexOf('x')] = 0xff
    expect(parseFastResult(bytes)).toBeUndefined()
  })
})
