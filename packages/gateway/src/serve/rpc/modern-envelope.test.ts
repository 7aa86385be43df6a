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
  it('is recognized by its version, or by the header', () => {
    expect(isModern(call)).toBe(true)
    expect(isModern(asked('ping'))).toBe(false)
    expect(isModern(asked('ping'), { 'mcp-protocol-version': '2026-07-28' })).toBe(true)
    expect(isModern(asked('ping'), { 'mcp-protocol-version': '2025-11-25' })).toBe(false)
  })

  it('has a known version and the client’s capabilities', () => {
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
})

describe('the headers that repeat it', () => {
  it('match the body', () => {
    expect(checkHeaders(call, headers)).toBeUndefined()
    for (const name of Object.keys(headers)) {
      expect(checkHeaders(call, { ...headers, [name]: undefined })).toMatchObject({
        code: 'HEADER_MISMATCH',
        message: `The header ${name} is missing.`,
      })
      expect(checkHeaders(call, { ...headers, [name]: 'other' })?.code).toBe('HEADER_MISMATCH')
    }
  })

  it('are a mismatch if their version differs from that of the body', () => {
    const other = asked('tools/call', { name: 'echo', _meta: { ...META, [VERSION]: '1999-01-01' } })
    expect(checkModernRequest(call, headers)).toBeUndefined()
    expect(checkModernRequest(other, headers)?.code).toBe('HEADER_MISMATCH')
    const problem = checkModernRequest(other, { ...headers, 'mcp-protocol-version': '1999-01-01' })
    expect(problem?.code).toBe('VERSION_UNSUPPORTED')
    expect(problem && versionErrorData(problem, other)).toEqual({ supported: ['2026-07-28'], requested: '1999-01-01' })
    expect(checkModernRequest(asked('tools/list'), { ...headers, 'mcp-method': 'tools/list' })?.code).toBe(
      'INVALID_PARAMS',
    )
  })

  it('name what is read or called, and are not needed for a method without a name', () => {
    const read = asked('resources/read', { uri: 'a://b', _meta: META })
    expect(checkHeaders(read, { ...headers, 'mcp-method': 'resources/read', 'mcp-name': 'a://b' })).toBeUndefined()
    const list = asked('tools/list', { _meta: META })
    expect(checkHeaders(list, { ...headers, 'mcp-method': 'tools/list', 'mcp-name': undefined })).toBeUndefined()
  })

  it('need no name for a method that is named like a member of every object', () => {
    for (const method of ['constructor', '__proto__', 'toString']) {
      expect(checkHeaders(asked(method, { _meta: META }), { ...headers, 'mcp-method': method })).toBeUndefined()
    }
  })

  it('may be encoded if a name is not plain ASCII', () => {
    const tool = asked('tools/call', { name: 'grüße', _meta: META })
    const encoded = `=?base64?${Buffer.from('grüße').toString('base64')}?=`
    expect(checkHeaders(tool, { ...headers, 'mcp-name': encoded })).toBeUndefined()
    expect(checkHeaders(tool, { ...headers, 'mcp-name': '=?base64?###?=' })?.code).toBe('HEADER_MISMATCH')
  })

  it('do not match a name that is not a string', () => {
    const tool = asked('tools/call', { name: 7, _meta: META })
    expect(checkHeaders(tool, { ...headers, 'mcp-name': '7' })?.code).toBe('HEADER_MISMATCH')
  })
})
