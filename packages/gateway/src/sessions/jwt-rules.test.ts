import { SallyportError } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import type { JwtSettings } from '../config/config.ts'
import { keySourceOf } from './jwt-rules.ts'

const SECRET = 'a shared secret of more than 32 bytes'
const JWKS = 'https://issuer.example/jwks'

const settings = (more: Partial<JwtSettings>): JwtSettings => ({
  issuers: ['https://issuer.example'],
  audience: [],
  algorithms: ['RS256'],
  jwksUri: undefined,
  secret: undefined,
  toleranceSeconds: 5,
  ...more,
})

function refusal(more: Partial<JwtSettings>): SallyportError {
  try {
    keySourceOf(settings(more))
  } catch (error) {
    if (error instanceof SallyportError && error.code === 'CONFIG_INVALID') return error
    throw error
  }
  throw new Error('The settings were accepted.')
}

describe('the settings of auth.jwt', () => {
  it('are a secret with HMAC or a key set with public keys', () => {
    expect(keySourceOf(settings({ secret: SECRET, algorithms: ['HS256', 'HS512'] }))).toMatchObject({ kind: 'secret' })
    expect(keySourceOf(settings({ jwksUri: JWKS, algorithms: ['RS256', 'EdDSA'] }))).toEqual({
      kind: 'jwks',
      url: JWKS,
    })
  })

  it.each([
    { secret: SECRET, algorithms: ['RS256'] },
    { secret: SECRET, algorithms: ['HS256', 'RS256'] },
    { jwksUri: JWKS, algorithms: ['HS256'] },
    { jwksUri: JWKS, algorithms: ['RS256', 'HS256'] },
    { jwksUri: JWKS, algorithms: ['none'] },
    { secret: SECRET, algorithms: ['none'] },
    { secret: SECRET, algorithms: ['HS256', 'none'] },
    { jwksUri: JWKS, algorithms: ['*'] },
    { jwksUri: JWKS, algorithms: [] },
    { jwksUri: JWKS, secret: SECRET, algorithms: ['RS256'] },
    { algorithms: ['RS256'] },
    { jwksUri: JWKS, issuers: [] },
    { jwksUri: 'file:///etc/keys.json' },
    { jwksUri: 'https://user:pass@issuer.example/jwks' },
    { jwksUri: 'issuer.example/jwks' },
    { secret: '', algorithms: ['HS256'] },
  ])('are refused as %j', (more) => {
    expect(refusal(more).hint).toBeDefined()
  })

  it('are explained without showing the secret or the password', () => {
    expect(refusal({ secret: 'hunter2', algorithms: ['RS256'] }).text).not.toContain('hunter2')
    expect(refusal({ jwksUri: 'https://user:hunter2@issuer.example/' }).text).not.toContain('hunter2')
  })

  it('get a suggestion for a misspelt algorithm', () => {
    expect(refusal({ jwksUri: JWKS, algorithms: ['RSA256'] }).message).toContain('Did you mean "RS256"?')
  })
})
