import type { JsonObject } from '@sallyport/core'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../../tests/promises.ts'
import type { Client } from '../client.ts'
import { GATEWAY_PERMIT } from '../permit.ts'
import { encodeRequest, formatIntroduction } from './encode-request.ts'
import type { OutgoingCall } from './outgoing-call.ts'

const META = 'io.modelcontextprotocol'
const OURS = { name: 'sallyport', version: '1' }
const DECLARED = { clientInfo: { name: 'ümlaut "x"' }, capabilities: { roots: {} }, logLevel: undefined }

function clientWith(declared: Pick<Client, 'clientInfo' | 'capabilities' | 'logLevel'>, introduction?: string): Client {
  return {
    ...{ era: 'legacy', conversation: 'c', answersInCall: true, introduction, ...declared },
    ask: async () => ({ result: null }),
    notify: () => {},
  }
}

function paramsOf(request: Partial<OutgoingCall>, era: 'legacy' | 'modern' = 'modern'): JsonObject {
  const text = encodeRequest(
    7,
    { method: 'tools/call', params: {}, permit: GATEWAY_PERMIT, ...request },
    { era, clientInfo: OURS },
  )
  expect(text.startsWith('{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{')).toBe(true)
  return JSON.parse(text).params
}

describe(`a call of a legacy client to a modern server (${promise('GW-17')})`, () => {
  const introduced = clientWith(DECLARED, formatIntroduction(DECLARED))

  it('is the same with and without the preserialized introduction', () => {
    const keys = fc.constantFrom('progressToken', 'x/y', '__proto__', `${META}/clientInfo`, `${META}/logLevel`, 'ü"')
    const metas = fc.option(fc.dictionary(keys, fc.jsonValue()), { nil: undefined })
    const traces = fc.constantFrom(undefined, { traceparent: '00-1-2-01' })
    fc.assert(
      fc.property(metas, fc.boolean(), traces, traces, (_meta, hears, trace, span) => {
        const params = { name: 'a', arguments: { b: 1 }, ...(_meta && { _meta: _meta as JsonObject }) }
        const request = { params, trace, span, ...(hears && { onProgress: () => {} }) }
        expect(paramsOf({ ...request, client: introduced })).toEqual(
          paramsOf({ ...request, client: clientWith(DECLARED) }),
        )
      }),
    )
  })

  it('contains what the client declared, the `_meta` of this call, and our progress token', () => {
    const params = { name: 'a', _meta: { progressToken: 'theirs', 'x/y': 1 } }
    expect(paramsOf({ params, client: introduced, onProgress: () => {} })).toEqual({
      name: 'a',
      _meta: {
        'x/y': 1,
        [`${META}/protocolVersion`]: '2026-07-28',
        [`${META}/clientInfo`]: DECLARED.clientInfo,
        [`${META}/clientCapabilities`]: DECLARED.capabilities,
        progressToken: 7,
      },
    })
  })

  it('sends none of this to a legacy server', () => {
    expect(paramsOf({ params: { name: 'a' }, client: introduced }, 'legacy')).toEqual({ name: 'a' })
  })
})
