import { describe, expect, it } from 'vitest'
import { promise } from '../../../../../tests/promises.ts'
import { GATEWAY_PERMIT } from '../permit.ts'
import { encodeIdentified, takesCallerTokens } from './caller-token.ts'
import { encodeRequest } from './encode-request.ts'

const audience = { server: 'db', keyId: 'k' }

describe(`a request of a known caller (${promise('SEN-19')})`, () => {
  it.each(['legacy', 'modern'] as const)('has the token beside what its client sent: %s', (era) => {
    const params = { name: 'query', arguments: { a: 1 }, _meta: { mine: 1, progressToken: 'p' } }
    const call = { method: 'tools/call', params, permit: GATEWAY_PERMIT }
    const caller = { tokenFor: () => 'a.b.c' }
    const sender = { era, clientInfo: { name: 'sallyport' } }
    const message = JSON.parse(encodeIdentified({ id: 1, call, caller, audience, sender })())
    expect(message.params._meta).toMatchObject({ mine: 1, 'sallyport/caller': 'a.b.c' })
    expect(message.params.arguments).toEqual({ a: 1 })
  })

  it.each(['legacy', 'modern'] as const)('has one token, even if its client had written one: %s', (era) => {
    const complete = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'x' },
      'io.modelcontextprotocol/clientCapabilities': {},
    }
    const sender = { era, clientInfo: {} }
    for (const _meta of [
      {},
      complete,
      { 'sallyport/caller': 'forged' },
      { ...complete, 'sallyport/caller': 'forged' },
    ]) {
      const call = { method: 'tools/call', params: { name: 'query', _meta }, permit: GATEWAY_PERMIT }
      const text = encodeIdentified({ id: 1, call, caller: { tokenFor: () => 'a.b.c' }, audience, sender })()
      expect(text.split('sallyport/caller')).toHaveLength(2)
      expect(JSON.parse(text).params._meta['sallyport/caller']).toBe('a.b.c')
      expect(encodeRequest(1, call, sender)).not.toContain('forged')
    }
  })

  it('is encoded again only if its token has changed meanwhile', () => {
    let token = 'first'
    const call = { method: 'tools/call', params: { name: 'query' }, permit: GATEWAY_PERMIT }
    const caller = { tokenFor: () => token }
    const sender = { era: 'legacy', clientInfo: {} } as const
    const encode = encodeIdentified({ id: 1, call, caller, audience, sender })
    const text = encode()
    expect(encode()).toBe(text)
    token = 'second'
    expect(encode()).toBe(text.replace('first', 'second'))
  })
})

describe('a server', () => {
  it.each([
    [{ experimental: { 'sallyport/caller': {} } }, true],
    [{ experimental: { 'sallyport/caller': { version: 1 } } }, true],
    [{ experimental: { 'sallyport/caller': true } }, false],
    [{ experimental: ['sallyport/caller'] }, false],
    [{ 'sallyport/caller': {} }, false],
    [{}, false],
  ])('with %j takes caller tokens: %s', (capabilities, takes) => {
    expect(takesCallerTokens(capabilities)).toBe(takes)
  })
})
