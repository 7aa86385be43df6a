import { describe, expect, it } from 'vitest'
import { checkUrl } from './url-policy.ts'

describe('the policy for URLs', () => {
  it.each([
    'ftp://example.com/',
    'file:///etc/passwd',
    'data:text/plain,x',
    'javascript:alert(1)',
    'ws://example.com/',
  ])('refuses %s', (text) => {
    expect(checkUrl(new URL(text))).toContain(new URL(text).protocol)
  })

  it.each(['https://example.com/mcp', 'http://127.0.0.1:8080/', 'http://user:pass@10.0.0.1/', 'http://[::1]/'])(
    'leaves %s to the operator',
    (text) => {
      expect(checkUrl(new URL(text))).toBeUndefined()
    },
  )
})
