import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../../tests/promises.ts'
import { type ClientMessage, type InvalidMessage, readMessage } from './client-message.ts'

const read = (text: string | Buffer): ClientMessage | InvalidMessage => readMessage(Buffer.from(text))
const refusal = (text: string | Buffer): readonly [code: string, id: unknown] => {
  const message = read(text)
  return 'error' in message ? [message.error.code, message.id] : [message.kind, undefined]
}
const request = (members: string): string => `{"jsonrpc":"2.0","id":1,"method":"m",${members}}`

describe(`a message of a client (${promise('GW-21')})`, () => {
  it('is a request, a notification or a response', () => {
    expect(read('{"jsonrpc":"2.0","id":"a","method":"ping"}')).toEqual({
      kind: 'request',
      id: 'a',
      method: 'ping',
      params: {},
    })
    expect(read('{"jsonrpc":"2.0","method":"n","params":{"a":1}}')).toEqual({
      kind: 'notification',
      method: 'n',
      params: { a: 1 },
    })
    expect(read('{"jsonrpc":"2.0","id":0,"result":{}}')).toMatchObject({ kind: 'response', id: 0 })
    expect(read('{"jsonrpc":"2.0","id":0,"error":{}}')).toMatchObject({ kind: 'response' })
  })

  it('is read like JSON.parse reads it', () => {
    const params = fc.dictionary(fc.string(), fc.jsonValue({ noUnicodeString: false } as object))
    fc.assert(
      fc.property(params, (given) => {
        const text = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'm', params: given })
        const message = read(text)
        if ('error' in message) expect(message.error.message).toMatch(/_meta|number/)
        else expect(message).toEqual({ kind: 'request', id: 1, method: 'm', params: JSON.parse(text).params })
      }),
    )
  })

  it('is at worst refused, whatever its bytes', () => {
    const likely = fc.array(
      fc.constantFrom('{', '}', '[', ']', '"', ':', ',', '1', 'e', '\\', '"jsonrpc"', '"2.0"', '"id"', '"method"'),
    )
    fc.assert(
      fc.property(
        fc.oneof(
          fc.uint8Array().map(Buffer.from),
          likely.map((parts) => Buffer.from(parts.join(''))),
        ),
        (bytes) => {
          expect(() => readMessage(bytes)).not.toThrow()
        },
      ),
    )
  })

  it('preserves keys that every JavaScript object has, without side effects', () => {
    const message = read(request('"params":{"__proto__":{"polluted":1},"constructor":2}'))
    expect(JSON.stringify((message as { params: unknown }).params)).toBe('{"__proto__":{"polluted":1},"constructor":2}')
    expect(({} as { polluted?: number }).polluted).toBeUndefined()
  })

  it('that is not JSON, not UTF-8 or nested too deeply is a parse error', () => {
    const deep = request(`"params":${'{"a":'.repeat(200)}1${'}'.repeat(200)}`)
    for (const text of ['', ' ', '{', 'nul', '{"a":1,}', "{'a':1}", '{} {}', Buffer.from([0x22, 0xff, 0x22])]) {
      expect(refusal(text)).toEqual(['PARSE_ERROR', undefined])
    }
    expect(refusal(deep)).toEqual(['PARSE_ERROR', 1])
  })

  it('with a duplicate key is refused, wherever the key is', () => {
    for (const members of [
      '"params":{"a":1,"a":1}',
      '"params":{"x":[{"b":1,"\\u0062":2}]}',
      '"params":{"__proto__":1,"__proto__":2}',
    ]) {
      expect(refusal(request(members))).toEqual(['PARSE_ERROR', 1])
    }
    expect(refusal('{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}')[0]).toBe('PARSE_ERROR')
  })

  it('with a number that cannot be represented exactly is refused', () => {
    for (const number of ['9007199254740993', '1e400', '-1e999', '123456789012345678901234567890']) {
      expect(refusal(request(`"params":{"a":${number}}`))).toEqual(['PARSE_ERROR', 1])
    }
    expect(refusal(request('"params":{"a":9007199254740991,"b":0.1,"c":1e300}'))[0]).toBe('request')
  })

  it('is an object, not a batch', () => {
    expect(refusal('[{"jsonrpc":"2.0","id":1,"method":"m"}]')).toEqual(['INVALID_REQUEST', undefined])
    for (const text of ['1', '"a"', 'null', 'true', '[]']) expect(refusal(text)[0]).toBe('INVALID_REQUEST')
  })

  it('declares JSON-RPC 2.0', () => {
    for (const version of ['"1.0"', '2.0', 'null']) {
      expect(refusal(`{"jsonrpc":${version},"id":7,"method":"m"}`)).toEqual(['INVALID_REQUEST', 7])
    }
    expect(refusal('{"id":7,"method":"m"}')).toEqual(['INVALID_REQUEST', 7])
  })

  it('has a valid id, or none', () => {
    for (const id of ['null', '1.5', 'true', '{}', '[]', `"${'x'.repeat(257)}"`]) {
      expect(refusal(`{"jsonrpc":"2.0","id":${id},"method":"m"}`)).toEqual(['INVALID_REQUEST', undefined])
    }
    for (const id of ['0', '-5', '9007199254740993', '""', `"${'ü'.repeat(256)}"`]) {
      expect(refusal(`{"jsonrpc":"2.0","id":${id},"method":"m"}`)[0]).toBe('request')
    }
  })

  it('has a short method, and an object as parameters', () => {
    expect(refusal('{"jsonrpc":"2.0","id":1,"method":5}')).toEqual(['INVALID_REQUEST', 1])
    expect(refusal(`{"jsonrpc":"2.0","id":1,"method":"${'m'.repeat(257)}"}`)).toEqual(['INVALID_REQUEST', 1])
    for (const params of ['[]', '"a"', '{"_meta":1}', '{"_meta":[]}']) {
      expect(refusal(request(`"params":${params}`))).toEqual(['INVALID_PARAMS', 1])
    }
  })

  it('may print what is missing as null', () => {
    const params = (text: string): unknown => (read(request(`"params":${text}`)) as { params: unknown }).params
    expect(params('null')).toEqual({})
    expect(params('{"_meta":null,"cursor":null,"arguments":null,"other":null}')).toEqual({ other: null })
    expect(params('{"arguments":{"a":null}}')).toEqual({ arguments: { a: null } })
    expect(read('{"jsonrpc":"2.0","id":1,"result":{},"error":null}')).toEqual({
      kind: 'response',
      id: 1,
      message: { jsonrpc: '2.0', id: 1, result: {} },
    })
    expect(read('{"jsonrpc":"2.0","id":1,"result":null,"error":{}}')).toMatchObject({ message: { error: {} } })
  })

  it('with a method has neither a result nor an error', () => {
    for (const members of ['"result":{}', '"error":{}', '"result":null', '"result":{},"error":{}']) {
      expect(refusal(request(members))).toEqual(['INVALID_REQUEST', 1])
      expect(refusal(`{"jsonrpc":"2.0","method":"notifications/initialized",${members}}`)[0]).toBe('INVALID_REQUEST')
    }
  })

  it('without a method has an id and either a result or an error', () => {
    for (const members of ['"id":1', '"result":{}', '"id":1,"result":{},"error":{}', '"id":null,"result":{}']) {
      expect(refusal(`{"jsonrpc":"2.0",${members}}`)[0]).toBe('INVALID_REQUEST')
    }
  })
})
