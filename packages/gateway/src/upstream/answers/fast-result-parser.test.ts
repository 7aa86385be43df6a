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

const INFO = '"io.modelcontextprotocol/serverInfo":{"name":"s"}'
const META = `"_meta":{${INFO}}`

/** Members of a result with what may be in a \`_meta\`, where it counts and where it is data. */
const MEMBERS = [
  '"resultType":"complete"',
  META,
  `"_meta":{${INFO},"x":1}`,
  `"_meta":{"x":{${INFO}}}`,
  '"_meta":{"sallyport/error":1}',
  `"_meta":{${INFO},"sallyport/error":1}`,
  `"_meta":{"\\u0073allyport/error":1}`,
  `"\\u005fmeta":{${INFO}}`,
  `"x_meta":{${INFO}}`,
  `"text":"_meta"`,
  `"text":"sallyport/x"`,
  `"content":[{"type":"text","text":"a",${META}}]`,
  '"content":[{"type":"text","text":"a","_meta":{"sallyport/x":1}}]',
  '"content":[{"type":"text","text":"\\"_meta\\":{\\"sallyport/x\\":1}"}]',
  `"structuredContent":{${META},"sallyport/x":1}`,
  `"other":{${INFO}}`,
  `"more":{"_meta":{"sallyport/x":1}}`,
] as const

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

  it('has the server info of a scan, and no member that only the gateway may send, wherever a _meta is', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.constantFrom(...MEMBERS), { maxLength: 3 }), (members) => {
        const text = `{"jsonrpc":"2.0","id":7,"result":{${members.join(',')}}}`
        const plain = parse(text)
        if (plain) expect({ ...plain, modernHead: undefined }).toEqual(scanned(text))
      }),
      { numRuns: 1_000 },
    )
  })

  it.each([
    ...MEMBERS,
    '"isError":true',
    '"content":null',
    '"ttlMs":0',
    '"a":1,"a":2',
    '',
    '}',
    '"a":1}',
    '"a":1},{"b":2',
    ' "a":1',
    '1',
  ])('has the envelope of a scan after the usual beginning, whatever follows: %s', (members) => {
    const head = `{"jsonrpc":"2.0","id":7,"result":{"resultType":"complete",${META},`
    parse(`${head}"content":[]}}`)
    const text = `${head}${members}}}`
    const plain = parse(text)
    if (plain) expect({ ...plain, modernHead: undefined }).toEqual(scanned(text))
  })

  it.each([
    ['at first', `{"resultType":"complete",${META},"content":[]}`],
    ['once more', `{"resultType":"complete",${META},"isError":true,"content":[]}`],
  ])('tells what to remove for a legacy client: %s', (_what, result) => {
    const text = `{"jsonrpc":"2.0","id":7,"result":${result}}`
    const { start = 0, end = 0 } = parse(text)?.modernHead ?? {}
    expect(text.slice(start, end)).toBe(`"resultType":"complete",${META},`)
  })

  it.each([
    ['lifetimes', `{"resultType":"complete",${META},"ttlMs":0}`],
    ['a value that may have to be wrapped', `{"resultType":"complete",${META},"structuredContent":{}}`],
    ['another type', `{"resultType":"task",${META},"content":[]}`],
    ['the type twice', `{"resultType":"complete",${META},"content":[],"resultType":"complete"}`],
    ['more in its _meta', `{"resultType":"complete","_meta":{"x":1,${META.slice(9)},"content":[]}`],
    ['nothing else', `{"resultType":"complete",${META}}`],
  ])('does not tell it of one with %s', (_what, result) => {
    const parsed = parse(`{"jsonrpc":"2.0","id":7,"result":${result}}`)
    expect(parsed).toBeDefined()
    expect(parsed?.modernHead).toBeUndefined()
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
