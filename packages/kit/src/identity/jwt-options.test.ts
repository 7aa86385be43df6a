import { generateKeyPairSync } from 'node:crypto'
import { SallyportError } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import { type JwtOptions, readJwtOptions } from './jwt-options.ts'

const SECRET = 'a shared secret that is long enough for each of the three hashes.'
const JWKS = 'https://issuer.example/jwks'
const ISSUERS = ['https://issuer.example']
const pem = (type: 'rsa' | 'ec', options: object) =>
  generateKeyPairSync(type as 'rsa', {
    ...(options as { modulusLength: number }),
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
const rsa = pem('rsa', { modulusLength: 2048 })
const weak = pem('rsa', { modulusLength: 1024 })
const curve = pem('ec', { namedCurve: 'P-384' })
const foreign = pem('ec', { namedCurve: 'secp256k1' })

describe('unusable options are refused at start', () => {
  const REFUSED: readonly [string, JwtOptions, RegExp][] = [
    ['no key', {}, /one of secret, jwksUri and publicKey; got none/],
    ['two keys', { secret: SECRET, jwksUri: JWKS }, /got 2/],
    ['an empty secret', { secret: '' }, /0 bytes; expected at least 32 for HS256/],
    ['a secret too short for HS256', { secret: 'x'.repeat(31) }, /31 bytes; expected at least 32 for HS256/],
    [
      'one too short for HS384',
      { secret: SECRET.slice(0, 47), algorithms: ['HS256', 'HS384'] },
      /expected at least 48 for HS384/,
    ],
    ['one too short for HS512', { secret: 'x'.repeat(63), algorithms: ['HS512'] }, /expected at least 64 for HS512/],
    ['a public key as a secret', { secret: rsa.publicKey }, /contains a public or private key/],
    ['a JWK as a secret', { secret: `{"kty":"RSA","n":"${SECRET}"}` }, /contains a public or private key/],
    ['a secret with RS256', { secret: SECRET, algorithms: ['RS256'] }, /"RS256", which a secret cannot verify/],
    [
      'keys with HS256',
      { jwksUri: JWKS, issuers: ISSUERS, algorithms: ['HS256'] },
      /"HS256", which a public key cannot/,
    ],
    ['the algorithm none', { secret: SECRET, algorithms: ['none'] }, /"none"/],
    ['no algorithm', { secret: SECRET, algorithms: [] }, /algorithms is empty/],
    ['a string for a list', { secret: SECRET, algorithms: 'HS256' as never }, /algorithms must be a list/],
    ['a key set without issuers', { jwksUri: JWKS }, /issuers is missing/],
    ['an issuer with a hash', { secret: SECRET, issuers: ['https://a#b'] }, /an issuer contains "#"/],
    ['plain http', { jwksUri: 'http://issuer.example/jwks', issuers: ISSUERS }, /not https/],
    ['a file', { jwksUri: 'file:///etc/passwd', issuers: ISSUERS }, /not https/],
    ['a password', { jwksUri: 'https://a:hunter2@issuer.example', issuers: ISSUERS }, /contains a password/],
    ['an invalid URL', { jwksUri: 'issuer', issuers: ISSUERS }, /is not a valid URL/],
    ['a private key', { publicKey: rsa.privateKey }, /is not a public key/],
    ['invalid PEM', { publicKey: 'MIIB' }, /is not valid PEM/],
    ['a weak key', { publicKey: weak.publicKey }, /1024 bits/],
    ['an unsupported curve', { publicKey: foreign.publicKey }, /no known algorithm/],
    ['a key of another family', { publicKey: rsa.publicKey, algorithms: ['ES256'] }, /verifies RS256/],
    ['a negative tolerance', { secret: SECRET, clockTolerance: -1 }, /clockTolerance/],
    ['a tolerance of a day', { secret: SECRET, clockTolerance: '1d' }, /clockTolerance/],
  ]

  it.each(REFUSED)('%s', (_, options, message) => {
    const read = () => readJwtOptions(options)
    expect(read).toThrow(SallyportError)
    expect(read).toThrow(message)
    expect(read).not.toThrow(/hunter2|xxxx|MII/)
  })
})

it('each key determines the algorithms that it can verify', () => {
  expect(readJwtOptions({ secret: SECRET }).algorithms).toEqual(['HS256'])
  expect(readJwtOptions({ publicKey: curve.publicKey }).algorithms).toEqual(['ES384'])
  expect(readJwtOptions({ publicKey: rsa.publicKey, algorithms: ['ES256', 'RS256'] }).algorithms).toEqual(['RS256'])
  expect(readJwtOptions({ jwksUri: JWKS, issuers: ISSUERS, algorithms: ['EdDSA'] }).algorithms).toEqual([
    'EdDSA',
    'Ed25519',
  ])
})

it('a key set may be on loopback without https, and durations are numbers of seconds or strings', () => {
  expect(readJwtOptions({ jwksUri: 'http://127.0.0.1:1/x', issuers: ISSUERS }).jwksUri).toContain('127.0.0.1')
  expect(readJwtOptions({ secret: SECRET, clockTolerance: 30 }).toleranceSeconds).toBe(30)
  expect(readJwtOptions({ secret: SECRET, clockTolerance: '1m' }).toleranceSeconds).toBe(60)
  expect(readJwtOptions({ secret: SECRET, audience: 'a' }).audience).toEqual(['a'])
})
