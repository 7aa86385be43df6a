import type { JsonObject } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../../tests/promises.ts'
import { checkEnvelope, checkHeaders, checkModernRequest, isModern, versionErrorData } from './modern-envelope.ts'

const VERSION = 'io.modelcontextprotocol/protocolVersion'
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities'
const META = { [VERSION]: '2026-07-28', [CAPABILITIES]: {} }

const asked = (method: string, params: JsonObject = {}) => ({ kind: 'request', id: 1, method, params }) as const
const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'echo' }
const call = asked('tools/call', { name: 'echo', _meta: META })

describe(`the envelope of the modern era (${promise('GW-21')})`, () => {
  it('is known by the version in it, or by the header', () => {
    expect(isModern(call)).toBe(true)
    expect(isModern(asked('ping'))).toBe(false)
    expect(isModern(asked('ping'), { 'mcp-protocol-version': '2026-07-28' })).toBe(true)
    expect(isModern(asked('ping'), { 'mcp-protocol-version': '2025-11-25' })).toBe(false)
  })

  it('names a version that is known, and the client’s capabilities', () => {
    expect(checkEnvelope(call)).toBeUndefined()
    expect(checkEnvelope(asked('m'))?.code).toBe('INVALID_PARAMS')
    expect(checkEnvelope(asked('m', { _meta: { [VERSION]: 5 } }))?.code).toBe('INVALID_PARAMS')
    expect(checkEnvelope(asked('m', { _meta: { [VERSION]: '1999-01-01' } }))).toMatchObject({
      code: 'VERSION_UNSUPPORTED',
      message: expect.stringContaining('"1999-01-01"'),
    })
    for (const capabilities of [undefined, null, [], 'all']) {
      const _meta = { ...META, [CAPABILITIES]: capabilities } as JsonObject
      expect(checkEnvelope(asked('m', { _meta }))?.code).toBe('INVALID_PARAMS')
    }
  })

  it('asks no capabilities of a notification', () => {
    const _meta = { [VERSION]: '2026-07-28' }
    expect(checkEnvelope({ kind: 'notification', method: 'n', params: { _meta } })).toBeUndefined()
  })
})

describe('the headers that repeat it', () => {
  it('say what the body says', () => {
    expect(checkHeaders(call, headers)).toBeUndefined()
    for (const name of Object.keys(headers)) {
      expect(checkHeaders(call, { ...headers, [name]: undefined })).toMatchObject({
        code: 'HEADER_MISMATCH',
        message: `The header ${name} is missing.`,
      })
      expect(checkHeaders(call, { ...headers, [name]: 'other' })?.code).toBe('HEADER_MISMATCH')
    }
  })

  it('are believed no more than the body where the two name different versions', () => {
    const other = asked('tools/call', { name: 'echo', _meta: { ...META, [VERSION]: '1999-01-01' } })
    expect(checkModernRequest(call, headers)).toBeUndefined()
    expect(checkModernRequest(other, headers)?.code).toBe('HEADER_MISMATCH')
    const flaw = checkModernRequest(other, { ...headers, 'mcp-protocol-version': '1999-01-01' })
    expect(flaw?.code).toBe('VERSION_UNSUPPORTED')
    expect(flaw && versionErrorData(flaw, other)).toEqual({ supported: ['2026-07-28'], requested: '1999-01-01' })
    expect(checkModernRequest(asked('tools/list'), { ...headers, 'mcp-method': 'tools/list' })?.code).toBe(
      'INVALID_PARAMS',
    )
  })

  it('name what is read or fetched, and nothing where a method has no name', () => {
    const read = asked('resources/read', { uri: 'a://b', _meta: META })
    expect(checkHeaders(read, { ...headers, 'mcp-method': 'resources/read', 'mcp-name': 'a://b' })).toBeUndefined()
    const list = asked('tools/list', { _meta: META })
    expect(checkHeaders(list, { ...headers, 'mcp-method': 'tools/list', 'mcp-name': undefined })).toBeUndefined()
  })

  it('ask no name for a method that is called like a member of every object', () => {
    for (const method of ['constructor', '__proto__', 'toString']) {
      expect(checkHeaders(asked(method, { _meta: META }), { ...headers, 'mcp-method': method })).toBeUndefined()
    }
  })

  it('may be encoded, where a name is no plain text', () => {
    const tool = asked('tools/call', { name: 'grüße', _meta: META })
    const encoded = `=?base64?${Buffer.from('grüße').toString('base64')}?=`
    expect(checkHeaders(tool, { ...headers, 'mcp-name': encoded })).toBeUndefined()
    expect(checkHeaders(tool, { ...headers, 'mcp-name': '=?base64?###?=' })?.code).toBe('HEADER_MISMATCH')
  })

  it('cannot stand for a name that is no text', () => {
    const tool = asked('tools/call', { name: 7, _meta: META })
    expect(checkHeaders(tool, { ...headers, 'mcp-name': '7' })?.code).toBe('HEADER_MISMATCH')
  })
})
