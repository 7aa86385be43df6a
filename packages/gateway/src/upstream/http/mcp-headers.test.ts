import { describe, expect, it } from 'vitest'
import { McpHeaders } from './mcp-headers.ts'

const asObject = (list: readonly string[]): Record<string, string> =>
  Object.fromEntries(Array.from({ length: list.length / 2 }, (_, n) => [list[2 * n], list[2 * n + 1]]))

describe('the headers of a request', () => {
  it('contain no version and session in initialize, whatever was agreed before', () => {
    const headers = new McpHeaders(['x-own', '1'])
    headers.setVersion('2025-11-25')
    headers.beginSession('s')
    const sent = asObject(headers.forPost({ method: 'initialize', name: undefined }))
    expect(Object.keys(sent).sort()).toEqual(['accept', 'content-type', 'x-own'])
  })

  it('contain version and session in the legacy era, and are not built again for each call', () => {
    const headers = new McpHeaders([])
    headers.beginSession('s')
    headers.setVersion('2025-06-18')
    const call = { method: 'tools/call', name: 'echo' }
    expect(asObject(headers.forPost(call))).toMatchObject({
      'mcp-protocol-version': '2025-06-18',
      'mcp-session-id': 's',
    })
    expect(headers.forPost(call)).toBe(headers.forPost(call))
  })

  it('contain version, method and name in the modern era, and no session', () => {
    const headers = new McpHeaders([])
    headers.setVersion('2026-07-28')
    const sent = asObject(headers.forPost({ method: 'tools/call', name: 'echo' }))
    expect(sent).toMatchObject({ 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'echo' })
    expect(sent).not.toHaveProperty('mcp-session-id')
  })

  it('contain further repeated values in the modern era, and only there', () => {
    const headers = new McpHeaders([])
    const call = { method: 'tools/call', name: 'echo', headers: ['mcp-param-region', 'eu'] }
    headers.setVersion('2025-11-25')
    expect(asObject(headers.forPost(call))).not.toHaveProperty('mcp-param-region')
    headers.setVersion('2026-07-28')
    expect(asObject(headers.forPost(call))).toMatchObject({ 'mcp-name': 'echo', 'mcp-param-region': 'eu' })
  })
})
