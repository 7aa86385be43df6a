import { describe, expect, it } from 'vitest'
import { CALLER_TOKEN_HEADER, CALLER_TOKEN_PREFIX } from './caller-token.ts'

describe('how every caller token begins', () => {
  it('is the beginning of its header in base64url', () => {
    expect(Buffer.from(`${CALLER_TOKEN_HEADER}any"}`).toString('base64url').startsWith(CALLER_TOKEN_PREFIX)).toBe(true)
    expect(Buffer.from(CALLER_TOKEN_PREFIX, 'base64url').toString()).toBe(CALLER_TOKEN_HEADER)
  })
})
