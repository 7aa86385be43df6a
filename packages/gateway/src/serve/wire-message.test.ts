import type { Era, Json } from '@sallyport/core'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { FrameReader } from '../upstream/frame-reader.ts'
import type { Frame } from '../upstream/upstream.ts'
import {
  errorMessage,
  messageBytes,
  notificationMessage,
  relayedMessage,
  resultMessage,
  type WireMessage,
} from './wire-message.ts'

const textOf = (message: WireMessage): string => Buffer.concat(message.map((piece) => Buffer.from(piece))).toString()

/** The frame of a text that arrived in pieces of this size. */
function frameOf(text: string, size = 1_000_000): Frame {
  const reader = new FrameReader(10_000_000)
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) reader.feed(Buffer.from(bytes.subarray(at, at + size)))
  const outcome = reader.finish()
  if (outcome.kind !== 'frame') throw new Error(`The test wrote ${outcome.kind}.`)
  return outcome.frame
}

interface Way {
  readonly from?: Era
  readonly to?: Era
  readonly id?: Json
  readonly method?: string
}

const relayed = (
  frame: Frame,
  { from = 'legacy', to = 'legacy', id = 'client', method = 'tools/call' }: Way = {},
): string => textOf(relayedMessage(frame, { id, method, from, to }))

describe('messages of our own', () => {
  it('are one line each, with the client’s id as it was', () => {
    expect(textOf(resultMessage('a"b\n', { x: 1 }))).toBe('{"jsonrpc":"2.0","id":"a\\"b\\n","result":{"x":1}}')
    expect(textOf(resultMessage(7, Buffer.from('{"big":1}')))).toBe('{"jsonrpc":"2.0","id":7,"result":{"big":1}}')
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
  it('has the client’s id and is otherwise the very bytes that came, cut however they came', () => {
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

  it('keeps what re-printing would lose: numbers, escapes, unknown members, keys that stand twice', () => {
    const body = '"result":{"n":12345678901234567890,"e":"\\u0041\\/","n":1,"__proto__":{"x":1}},"extra":1'
    expect(relayed(frameOf(`{"id":1,${body}}`))).toBe(`{"id":"client",${body}}`)
  })

  it('is passed on when it is an error', () => {
    expect(relayed(frameOf('{"error":{"code":1,"message":"no"},"id":1}'))).toBe(
      '{"error":{"code":1,"message":"no"},"id":"client"}',
    )
    expect(relayed(frameOf('{"error":{"code":1,"message":"no"},"id":1}'), { from: 'modern' })).toContain('"no"')
  })

  it('loses line breaks between its tokens, and none inside its texts', () => {
    const frame = frameOf('{\r\n "id": 1,\n "result": {\n  "a": "x\\ny"\n }\n}', 3)
    const text = relayed(frame)
    expect(text).not.toMatch(/[\r\n]/)
    expect(JSON.parse(text)).toEqual({ id: 'client', result: { a: 'x\ny' } })
  })
})

describe('the answer of a legacy server to a modern client', () => {
  const way: Way = { from: 'legacy', to: 'modern' }

  it('says that it is complete', () => {
    for (const size of [1, 2, 1_000]) {
      expect(relayed(frameOf('{"id":1,"result":{"a":1}}', size), way)).toBe(
        '{"id":"client","result":{"resultType":"complete","a":1}}',
      )
      expect(relayed(frameOf('{"result": { \n } ,"id":1}', size), way)).toBe(
        '{"result": {"resultType":"complete"   } ,"id":"client"}',
      )
    }
  })

  it('says of what was read for how long it may be kept', () => {
    expect(relayed(frameOf('{"id":1,"result":{}}'), { ...way, method: 'resources/read' })).toBe(
      '{"id":"client","result":{"resultType":"complete","ttlMs":0,"cacheScope":"private"}}',
    )
  })

  it('is left alone when it says so itself, or is an error', () => {
    for (const text of ['{"id":1,"result":{"resultType":"task"}}', '{"id":1,"error":{}}']) {
      expect(relayed(frameOf(text), way)).toBe(text.replace('1', '"client"'))
    }
  })

  it('is an error of ours when its result is no object', () => {
    for (const result of ['"text"', '[]', 'null', '7', '"\\"}"']) {
      const message = JSON.parse(relayed(frameOf(`{"id":1,"result":${result}}`, 1), way))
      expect(message).toMatchObject({ id: 'client', error: { code: -32603 } })
    }
  })
})

describe('the answer of a modern server to a legacy client', () => {
  const way: Way = { from: 'modern', to: 'legacy' }

  it('loses what the modern era added, and nothing else', () => {
    const result = {
      resultType: 'complete',
      ttlMs: 5,
      cacheScope: 'public',
      content: [],
      _meta: { 'io.modelcontextprotocol/serverInfo': {}, own: 1 },
    }
    expect(JSON.parse(relayed(frameOf(JSON.stringify({ id: 1, result })), way))).toEqual({
      jsonrpc: '2.0',
      id: 'client',
      result: { content: [], _meta: { own: 1 } },
    })
  })

  it('keeps keys that every object has', () => {
    const text = relayed(frameOf('{"id":1,"result":{"resultType":"complete","__proto__":{"x":1},"_meta":{}}}'), way)
    expect(text).toBe('{"jsonrpc":"2.0","id":"client","result":{"__proto__":{"x":1}}}')
  })

  it('stays as it came where printing it again would change a number', () => {
    const body = '"result":{"resultType":"complete","n":12345678901234567890}'
    expect(relayed(frameOf(`{"id":1,${body}}`), way)).toBe(`{"id":"client",${body}}`)
  })

  it('is an error where a legacy client could not take it', () => {
    for (const type of ['"input_required"', '5', '{"toString":1,"valueOf":2}', `"${'x'.repeat(5_000)}"`]) {
      const text = relayed(frameOf(`{"id":1,"result":{"resultType":${type},"n":12345678901234567890}}`), way)
      if (type.length < 30) expect(JSON.parse(text)).toMatchObject({ id: 'client' })
      expect(text.length).toBeLessThan(6_000)
    }
    expect(JSON.parse(relayed(frameOf('{"id":1,"result":{"resultType":"input_required"}}'), way)).error.message).toBe(
      'The server answered with "input_required", which this client cannot take.',
    )
    expect(JSON.parse(relayed(frameOf('{"id":1,"result":[]}'), way))).toMatchObject({ error: { code: -32603 } })
  })
})
