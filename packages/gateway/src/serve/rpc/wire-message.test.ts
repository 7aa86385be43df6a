import type { Era, Json } from '@sallyport/core'
import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { promise } from '../../../../../tests/promises.ts'
import { FrameReader } from '../../upstream/answers/frame-reader.ts'
import type { Frame } from '../../upstream/upstream.ts'
import {
  errorMessage,
  messageBytes,
  notificationMessage,
  preserializedMessage,
  relayedMessage,
  resultMessage,
  type WireMessage,
} from './wire-message.ts'

const textOf = (message: WireMessage): string => Buffer.concat(message.map((piece) => Buffer.from(piece))).toString()

/** The frame of a text that was received in pieces of this size. */
function frameOf(text: string, size = 1_000_000): Frame {
  const reader = new FrameReader(10_000_000)
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) reader.feed(Buffer.from(bytes.subarray(at, at + size)))
  const outcome = reader.finish()
  if (outcome.kind !== 'frame') throw new Error(`The test wrote ${outcome.kind}.`)
  return outcome.frame
}

const SELF = '{"name":"sallyport"}'

interface RelayOptions {
  readonly from?: Era
  readonly to?: Era
  readonly id?: Json
  readonly method?: string
  readonly hasWrappedOutput?: boolean
}

const relayed = (
  frame: Frame,
  { from = 'legacy', to = 'legacy', id = 'client', method = 'tools/call', hasWrappedOutput = false }: RelayOptions = {},
): string => textOf(relayedMessage(frame, { id, method, from, to, hasWrappedOutput, serverInfo: SELF }))

describe('messages of our own', () => {
  it('are one line each, with the client’s id unchanged', () => {
    expect(textOf(resultMessage('a"b\n', { x: 1 }))).toBe('{"jsonrpc":"2.0","id":"a\\"b\\n","result":{"x":1}}')
    expect(textOf(preserializedMessage(7, ['{', Buffer.from('"big":1}')]))).toBe(
      '{"jsonrpc":"2.0","id":7,"result":{"big":1}}',
    )
    expect(textOf(errorMessage(undefined, { code: -32700, message: 'no' }))).toBe(
      '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}',
    )
    expect(textOf(notificationMessage({ method: 'n' }))).toBe('{"jsonrpc":"2.0","method":"n"}')
  })

  it('know their size in bytes', () => {
    const message = ['ü', Buffer.from('äö'), 'x']
    expect(messageBytes(message)).toBe(7)
  })
})

describe(`the answer of a server (${promise('GW-20')})`, () => {
  it('may have spaces around its result', () => {
    const texts = ['"result": {"ttlMs":1,"a":2} ', '"result":\t{"ttlMs":1,"a":2}', '"result":{"ttlMs":1,"a":2}  ']
    for (const text of texts)
      for (const whole of [`{"jsonrpc":"2.0","id":1,${text}}`, `{${text},"jsonrpc":"2.0","id":1}`]) {
        const { result: legacy } = JSON.parse(relayed(frameOf(whole), { from: 'modern', to: 'legacy' }))
        const { result: modern } = JSON.parse(relayed(frameOf(whole), { from: 'legacy', to: 'modern' }))
        expect([legacy, modern]).toEqual([{ a: 2 }, { resultType: 'complete', ttlMs: 1, a: 2 }])
      }
  })

  it('has the client’s id and otherwise the same bytes, in whatever pieces they arrived', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue()),
        fc.oneof(fc.string(), fc.maxSafeInteger()),
        fc.constantFrom(1, 2, 3, 7, 1_000),
        fc.boolean(),
        (result, id, size, idLast) => {
          const rest = `"result":${JSON.stringify(result)}`
          const text = idLast ? `{${rest},"id":12345}` : `{"id":12345,${rest}}`
          const expected = text.replace(idLast ? /12345\}$/ : /^\{"id":12345/, (head) =>
            head.replace('12345', () => JSON.stringify(id)),
          )
          expect(relayed(frameOf(text, size), { id })).toBe(expected)
        },
      ),
    )
  })

  it('preserves what printing again would lose: numbers, escapes, unknown members, duplicate keys', () => {
    const body = '"result":{"n":12345678901234567890,"e":"\\u0041\\/","n":1,"__proto__":{"x":1}},"extra":1'
    expect(relayed(frameOf(`{"id":1,${body}}`))).toBe(`{"id":"client",${body}}`)
  })

  it('is passed on when it is an error', () => {
    expect(relayed(frameOf('{"error":{"code":1,"message":"no"},"id":1}'))).toBe(
      '{"error":{"code":1,"message":"no"},"id":"client"}',
    )
    expect(relayed(frameOf('{"error":{"code":1,"message":"no"},"id":1}'), { from: 'modern' })).toContain('"no"')
  })

  it('loses line breaks between its tokens, but not inside its strings', () => {
    const frame = frameOf('{\r\n "id": 1,\n "result": {\n  "a": "x\\ny"\n }\n}', 3)
    const text = relayed(frame)
    expect(text).not.toMatch(/[\r\n]/)
    expect(JSON.parse(text)).toEqual({ id: 'client', result: { a: 'x\ny' } })
  })
})

describe('the answer of a legacy server to a modern client', () => {
  const context: RelayOptions = { from: 'legacy', to: 'modern' }

  it('gets the resultType `complete`', () => {
    for (const size of [1, 2, 1_000]) {
      expect(relayed(frameOf('{"id":1,"result":{"a":1}}', size), context)).toBe(
        '{"id":"client","result":{"resultType":"complete","a":1}}',
      )
      expect(relayed(frameOf('{"result": { \n } ,"id":1}', size), context)).toBe(
        '{"result": {"resultType":"complete"   } ,"id":"client"}',
      )
    }
  })

  it('gets caching members if a resource was read', () => {
    expect(relayed(frameOf('{"id":1,"result":{}}'), { ...context, method: 'resources/read' })).toBe(
      '{"id":"client","result":{"resultType":"complete","ttlMs":0,"cacheScope":"private"}}',
    )
  })

  it('is unchanged if it has a resultType or is an error', () => {
    for (const text of ['{"id":1,"result":{"resultType":"task"}}', '{"id":1,"error":{}}']) {
      expect(relayed(frameOf(text), context)).toBe(text.replace('1', '"client"'))
    }
  })

  it('gets the modern error code for a missing resource', () => {
    const refusal = '{"id":1,"error":{"data":{"code":-32002},"code": -32002,"message":"no"}}'
    const message = relayed(frameOf(refusal, 5), { ...context, method: 'resources/read' })
    expect(message).toBe('{"id":"client","error":{"data":{"code":-32002},"code": -32602,"message":"no"}}')
    expect(relayed(frameOf(refusal), context)).toContain('"code": -32002')
  })

  it('is replaced by an error if its result is not an object', () => {
    for (const result of ['"text"', '[]', 'null', '7', '"\\"}"']) {
      const message = JSON.parse(relayed(frameOf(`{"id":1,"result":${result}}`, 1), context))
      expect(message).toMatchObject({ id: 'client', error: { code: -32603 } })
    }
  })
})

/** The result for a legacy client, computed from parsed values. */
function legacyOf({ resultType, ttlMs, cacheScope, _meta, ...rest }: Record<string, any>, wraps: boolean) {
  const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value)
  const { 'io.modelcontextprotocol/serverInfo': _info, ...meta } = isObject(_meta) ? _meta : {}
  if ('structuredContent' in rest && (wraps || !isObject(rest.structuredContent)))
    rest.structuredContent = { result: rest.structuredContent }
  return Object.keys(meta).length > 0 ? { ...rest, _meta: meta } : rest
}

describe(`the answer of a modern server to a legacy client (${promise('GW-17')})`, () => {
  it.each([false, true])('is the same whether it came in one piece or in several (wrapped output: %s)', (wraps) => {
    const rest = fc.constantFrom(
      ...['"content":[{"type":"text","text":"a"}]', '"isError":true', '"structuredContent":{"a":1}'],
      ...['"structuredContent":5', '"ttlMs":0', '"resultType":"complete"', '"_meta":{"y":1}', '"other":{"_meta":{}}'],
    )
    const head = '"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s"}}'
    fc.assert(
      fc.property(fc.array(rest, { maxLength: 3 }), (members) => {
        const text = `{"jsonrpc":"2.0","id":1,"result":{${[head, ...members].join(',')}}}`
        const options = { from: 'modern', to: 'legacy', hasWrappedOutput: wraps } as const
        expect(relayed(frameOf(text), options)).toBe(relayed(frameOf(text, 40), options))
      }),
    )
  })

  const context: RelayOptions = { from: 'modern', to: 'legacy' }

  it('loses what the modern era added, and nothing else', () => {
    const result = {
      resultType: 'complete',
      ttlMs: 5,
      cacheScope: 'public',
      content: [],
      _meta: { 'io.modelcontextprotocol/serverInfo': {}, own: 1 },
    }
    expect(JSON.parse(relayed(frameOf(JSON.stringify({ id: 1, result })), context))).toEqual({
      id: 'client',
      result: { content: [], _meta: { own: 1 } },
    })
  })

  it('preserves keys that every JavaScript object has', () => {
    const text = relayed(frameOf('{"id":1,"result":{"resultType":"complete","__proto__":{"x":1},"_meta":{}}}'), context)
    expect(text).toBe('{"id":"client","result":{"__proto__":{"x":1}}}')
  })

  it('preserves all other bytes, whatever surrounds them and in whatever pieces they arrived', () => {
    const meta = 'io.modelcontextprotocol/serverInfo'
    const cases = [
      ['{"resultType":"complete","n":12345678901234567890}', '{"n":12345678901234567890}'],
      ['{"n":1.0,"resultType":"complete"}', '{"n":1.0}'],
      ['{ "a" : "}\\\\" , "ttlMs" : 5 , "cacheScope" : "x" , "b" : [ "]" ] }', '{ "a" : "}\\\\" , "b" : [ "]" ] }'],
      ['{"a":1 , "ttlMs":5,"resultType":"complete" }', '{"a":1 }'],
      ['{"resultType":"complete"}', '{}'],
      ['{ }', '{ }'],
      ['{"result\\u0054ype":"complete","x":"\\"resultType\\":1"}', '{"x":"\\"resultType\\":1"}'],
      [`{"_meta":{"${meta}":{"name":"x"}},"x":1}`, '{"x":1}'],
      [`{"x":{"resultType":1},"_meta":{"a":"b","${meta}":{"y":"}"}}}`, '{"x":{"resultType":1},"_meta":{"a":"b"}}'],
      [`{"_meta":{"${meta}":0,"a":"b"},"ttlMs":1}`, '{"_meta":{"a":"b"}}'],
    ]
    for (const [given, expected] of cases) {
      for (const size of [1, 3, 1_000])
        expect(relayed(frameOf(`{"id":1,"result":${given}}`, size), context)).toBe(
          `{"id":"client","result":${expected}}`,
        )
    }
  })

  it('equals one that was parsed and printed, for every result', () => {
    const keys = fc.constantFrom('resultType', 'ttlMs', 'cacheScope', '_meta', 'structuredContent', 'a', 'b\\"', 'ü')
    const values = fc.oneof(
      fc.jsonValue(),
      fc.constantFrom(...['"', '\\', '{"x":"}"}', '\\"'], { 'io.modelcontextprotocol/serverInfo': { a: [{}] } }),
    )
    fc.assert(
      fc.property(fc.dictionary(keys, values), fc.constantFrom(undefined, 1), fc.boolean(), (given, space, wraps) => {
        const result = { ...given, ...('resultType' in given && { resultType: 'complete' }) }
        const frame = frameOf(JSON.stringify({ id: 1, result }, null, space), 7)
        const { id, result: relayedResult } = JSON.parse(relayed(frame, { ...context, hasWrappedOutput: wraps }))
        expect([id, relayedResult]).toEqual(['client', legacyOf(JSON.parse(JSON.stringify(result)), wraps)])
      }),
    )
  })

  it.each([
    ['[1]', '{"result":[1]}', '{"result":[1]}'],
    ['null', '{"result":null}', '{"result":null}'],
    ['{"a":1}', '{"a":1}', '{"result":{"a":1}}'],
  ])('has the structured content %s as an object', (given, plain, wrapped) => {
    const frame = frameOf(`{"id":1,"result":{"content":[],"structuredContent":${given},"resultType":"complete"}}`)
    const expected = (content: string): string =>
      `{"id":"client","result":{"content":[],"structuredContent":${content}}}`
    expect(relayed(frame, context)).toBe(expected(plain))
    expect(relayed(frame, { ...context, hasWrappedOutput: true })).toBe(expected(wrapped))
    expect(relayed(frame, { ...context, method: 'prompts/get' })).toBe(expected(given))
    expect(relayed(frame, { from: 'legacy', to: 'legacy', hasWrappedOutput: true })).toContain(
      `"structuredContent":${given},`,
    )
  })

  it('is refused if it repeats the same members many times', () => {
    for (const member of [
      '"a":1,"resultType":"complete"',
      '"structuredContent":1',
      '"_meta":{"a":1,"io.modelcontextprotocol/serverInfo":1,"b":2}',
    ]) {
      const frame = frameOf(`{"id":1,"result":{${`${member},`.repeat(1_000)}"z":1}}`)
      const message = relayedMessage(frame, {
        id: 'client',
        method: 'tools/call',
        ...context,
        from: 'modern',
        to: 'legacy',
        serverInfo: SELF,
      })
      expect(message.length).toBeLessThan(10)
      expect(JSON.parse(textOf(message)).error.message).toContain('too many repeated members')
    }
  })

  it('is not parsed if it is large', () => {
    const text = '\\"x\\\\'.repeat(1_000_000)
    const frame = frameOf(`{"id":1,"result":{"resultType":"complete","a":"${text}","ttlMs":1}}`, 65_536)
    const parse = vi.spyOn(JSON, 'parse')
    const message = relayedMessage(frame, {
      id: 'client',
      method: 'tools/call',
      serverInfo: SELF,
      ...{ from: 'modern', to: 'legacy' },
    })
    const longest = Math.max(0, ...parse.mock.calls.map(([read]) => read.length))
    parse.mockRestore()
    expect(longest).toBeLessThan(300)
    expect(textOf(message) === `{"id":"client","result":{"a":"${text}"}}`).toBe(true)
  })

  it('is not copied if it is large', () => {
    const frame = frameOf(`{"id":1,"result":{"a":"${'x'.repeat(1_000_000)}","resultType":"complete"}}`, 65_536)
    const memory = new Set(frame.parts.map(({ buffer }) => buffer))
    const message = relayedMessage(frame, {
      id: 'client',
      method: 'tools/call',
      from: 'modern',
      to: 'legacy',
      serverInfo: SELF,
    })
    for (const piece of message) if (typeof piece !== 'string') expect(memory).toContain(piece.buffer)
  })

  it('loses the same members, however many it has', () => {
    for (const count of [0, 30, 31, 32, 33, 100]) {
      const others = Object.fromEntries(Array.from({ length: count }, (_, at) => [`member ${at}`, { at }]))
      for (const result of [
        { resultType: 'complete', ...others, ttlMs: 1 },
        { ...others, cacheScope: 'private' },
      ]) {
        const message = JSON.parse(relayed(frameOf(JSON.stringify({ id: 1, result }), 100), context))
        expect(message).toEqual({ id: 'client', result: others })
      }
    }
  })

  it('is an error if a legacy client does not support it', () => {
    for (const type of ['"input_required"', '5', '{"toString":1,"valueOf":2}', `"${'x'.repeat(5_000)}"`]) {
      const text = relayed(frameOf(`{"id":1,"result":{"resultType":${type},"n":12345678901234567890}}`), context)
      if (type.length < 30) expect(JSON.parse(text)).toMatchObject({ id: 'client' })
      expect(text.length).toBeLessThan(6_000)
    }
    expect(
      JSON.parse(relayed(frameOf('{"id":1,"result":{"resultType":"input_required"}}'), context)).error.message,
    ).toBe('The server answered with "input_required", which this client does not support.')
    expect(JSON.parse(relayed(frameOf('{"id":1,"result":[]}'), context))).toMatchObject({ error: { code: -32603 } })
  })
})
