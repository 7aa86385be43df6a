import { describe, expect, it } from 'vitest'
import { brokenHttp } from './connection-failure.ts'
import { networkFailure, quoteBody, redirectFailure, statusFailure } from './http-failure.ts'

const PEER = { server: 'weather', origin: 'https://weather.example' }
const withCode = (code: string): Error => Object.assign(new Error('raw text of the system'), { code })

describe('a network failure', () => {
  it.each([
    ['ECONNREFUSED', 'refused the connection'],
    ['ENOTFOUND', 'by name'],
    ['CONNECT_TIMEOUT', 'in time'],
    ['EHOSTUNREACH', 'cannot be reached'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'TLS'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'TLS'],
    ['EMFILE', 'could not be connected to'],
  ])('explains %s and what to do, if nothing was sent', (code, words) => {
    const error = networkFailure(withCode(code), PEER, 'unsent')
    expect(error.code).toBe('UPSTREAM_UNAVAILABLE')
    expect(error.message).toContain(words)
    expect(error.message).toContain(`${PEER.origin} `)
    expect(error.hint).toContain('"weather" in config.yaml')
  })

  it('warns that a request that was sent may have run', () => {
    const error = networkFailure(withCode('ECONNRESET'), PEER, 'sent')
    expect(error.code).toBe('UPSTREAM_DIED')
    expect(error.hint).toContain('carried out')
  })

  it('distinguishes invalid HTTP from a broken connection', () => {
    expect(networkFailure(brokenHttp('its head is too long'), PEER, 'sent').code).toBe('UPSTREAM_PROTOCOL')
  })
})

describe('a status instead of an answer', () => {
  it.each([
    [401, 'UPSTREAM_NEEDS_LOGIN'],
    [403, 'UPSTREAM_NEEDS_LOGIN'],
    [404, 'UPSTREAM_PROTOCOL'],
    [429, 'UPSTREAM_UNAVAILABLE'],
    [500, 'UPSTREAM_FAILED'],
    [503, 'UPSTREAM_UNAVAILABLE'],
  ])('maps %i to %s', (status, code) => {
    const error = statusFailure(status, PEER, '')
    expect(error.code).toBe(code)
    expect(error.message).toContain(String(status))
    expect(error.hint).toBeDefined()
  })

  it('shows only the origin of a redirect', () => {
    const error = redirectFailure(302, PEER, new URL('https://user:pass@other.example/path?key=k'))
    expect(error.message).toContain('https://other.example ')
    expect(error.text).not.toMatch(/user|pass|path|key/)
  })
})

describe('the quote from a body', () => {
  it('is one line of text without markup', () => {
    const page = '<html><style>b{}</style><script>\nx()</script><h1>Not\n found</h1><p>Ask\u0007 <b>us</b>'
    expect(quoteBody(page, [])).toBe('Not found Ask\\u0007 us')
  })

  it('contains no secret', () => {
    expect(quoteBody('you sent Bearer abcdef123, sorry', ['Bearer abcdef123', 'abcdef123'])).toBe('you sent •••, sorry')
  })

  it('is short', () => {
    expect(quoteBody('word '.repeat(1_000), []).length).toBeLessThanOrEqual(161)
  })

  it('copes with a page that never closes its tags', () => {
    expect(quoteBody('<script'.repeat(300), [])).toBe('')
    expect(quoteBody('<'.repeat(2_048), [])).toBe('')
  })
})
