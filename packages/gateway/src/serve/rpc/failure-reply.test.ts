import { ERRORS, type ErrorCode, SallyportError } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import { failureReply } from './failure-reply.ts'

const reply = (code: ErrorCode, method: string, era: 'legacy' | 'modern') => {
  const { message, status } = failureReply(
    { id: 'x', method, era },
    new SallyportError(code, 'So it is.', { hint: 'Try.' }),
  )
  return { status, ...(JSON.parse(message.join('')) as { result?: object; error?: { code: number } }) }
}

describe('the answer to a failed request', () => {
  it('is readable for the model if a tool call failed for a reason that concerns the model', () => {
    expect(reply('UPSTREAM_TIMEOUT', 'tools/call', 'legacy')).toEqual({
      status: 200,
      jsonrpc: '2.0',
      id: 'x',
      result: {
        content: [{ type: 'text', text: '[UPSTREAM_TIMEOUT] So it is. Try.' }],
        isError: true,
        _meta: { 'sallyport/error': { code: 'UPSTREAM_TIMEOUT', retryable: false } },
      },
    })
    expect(reply('UPSTREAM_TIMEOUT', 'tools/call', 'modern').result).toMatchObject({ resultType: 'complete' })
  })

  it('is a protocol error otherwise', () => {
    expect(reply('UPSTREAM_TIMEOUT', 'resources/read', 'modern')).toMatchObject({
      status: 200,
      error: { code: -32000, message: 'So it is. Try.', data: { code: 'UPSTREAM_TIMEOUT', retryable: false } },
    })
    expect(reply('TOOL_UNKNOWN', 'tools/call', 'legacy')).toMatchObject({ error: { code: -32602 } })
  })

  it('has an HTTP error status only in the modern era, and only for errors of the transport', () => {
    expect(reply('METHOD_UNKNOWN', 'm', 'modern').status).toBe(404)
    expect(reply('METHOD_UNKNOWN', 'm', 'legacy').status).toBe(200)
    expect(reply('TOOL_UNKNOWN', 'tools/call', 'modern').status).toBe(200)
  })

  it('uses the legacy code for a missing resource for legacy clients', () => {
    expect(reply('RESOURCE_UNKNOWN', 'resources/read', 'legacy').error?.code).toBe(-32002)
    expect(reply('RESOURCE_UNKNOWN', 'resources/read', 'modern').error?.code).toBe(-32602)
  })

  it('is either a result or an error, for every code', () => {
    for (const code of Object.keys(ERRORS) as ErrorCode[]) {
      for (const method of ['tools/call', 'prompts/get']) {
        const { result, error } = reply(code, method, 'legacy')
        expect((result === undefined) !== (error === undefined), code).toBe(true)
      }
    }
  })
})
