import { describe, expect, it } from 'vitest'
import { readHandshake } from './handshake.ts'

const VERSION = '2025-11-25'

describe('what a client sends when it opens a session', () => {
  it('is stored unchanged', () => {
    const capabilities = { sampling: {}, elicitation: { url: {} }, 'x-own': [1] }
    const clientInfo = { name: 'a', version: '1', icons: [{ src: 'https://a.example/i.png' }] }
    const handshake = readHandshake({ protocolVersion: '1999-01-01', capabilities, clientInfo }, VERSION)
    expect(handshake).toEqual({ protocolVersion: VERSION, capabilities, clientInfo })
  })

  it('is empty if it is missing or has another type', () => {
    for (const params of [{}, { capabilities: [], clientInfo: 'me' }, { capabilities: null, clientInfo: 7 }])
      expect(readHandshake(params, VERSION)).toEqual({ protocolVersion: VERSION, capabilities: {}, clientInfo: {} })
  })

  it('cannot fill our memory', () => {
    const clientInfo = { name: 'n'.repeat(9_000), version: 7, icons: [{ src: `data:${'x'.repeat(9_000)}` }] }
    expect(readHandshake({ clientInfo }, VERSION).clientInfo).toEqual({ name: 'n'.repeat(256) })
    expect(() => readHandshake({ capabilities: { x: 'x'.repeat(9_000) } }, VERSION)).toThrow(/more than 8192/)
  })
})
