import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { headerText, McpHeaders } from './mcp-headers.ts'

const asObject = (list: readonly string[]): Record<string, string> =>
  Object.fromEntries(Array.from({ length: list.length / 2 }, (_, n) => [list[2 * n], list[2 * n + 1]]))

describe('a text in a header', () => {
  it.each([
    ['us-west1', 'us-west1'],
    ['file:///a b?c=d', 'file:///a b?c=d'],
    ['Hello, 世界', '=?base64?SGVsbG8sIOS4lueVjA==?='],
    [' padded ', '=?base64?IHBhZGRlZCA=?='],
    ['line1\nline2', '=?base64?bGluZTEKbGluZTI=?='],
    ['=?base64?eA==?=', '=?base64?PT9iYXNlNjQ/ZUE9PT89?='],
  ])('writes %j as %s', (value, written) => {
    expect(headerText(value)).toBe(written)
  })

  it('comes back as it was, in bytes that HTTP does not touch', () => {
    const read = (written: string): string => {
      const match = /^=\?base64\?(.*)\?=$/.exec(written)
      return match ? Buffer.from(match[1] ?? '', 'base64').toString() : written
    }
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (value) => {
        const written = headerText(value)
        expect(written).toMatch(/^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/)
        expect(read(written)).toBe(value)
      }),
    )
  })
})

describe('the headers of a request', () => {
  it('say nothing of version and session in initialize, whatever was agreed before', () => {
    const headers = new McpHeaders(['x-own', '1'])
    headers.agreed('2025-11-25')
    headers.beginSession('s')
    const sent = asObject(headers.post({ method: 'initialize', name: undefined }))
    expect(Object.keys(sent).sort()).toEqual(['accept', 'content-type', 'x-own'])
  })

  it('carry version and session in the legacy era, and are not built anew for each call', () => {
    const headers = new McpHeaders([])
    headers.beginSession('s')
    headers.agreed('2025-06-18')
    const call = { method: 'tools/call', name: 'echo' }
    expect(asObject(headers.post(call))).toMatchObject({ 'mcp-protocol-version': '2025-06-18', 'mcp-session-id': 's' })
    expect(headers.post(call)).toBe(headers.post(call))
  })

  it('carry version, method and name in the modern era, and no session', () => {
    const headers = new McpHeaders([])
    headers.agreed('2026-07-28')
    const sent = asObject(headers.post({ method: 'tools/call', name: 'echo' }))
    expect(sent).toMatchObject({ 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'echo' })
    expect(sent).not.toHaveProperty('mcp-session-id')
  })
})
