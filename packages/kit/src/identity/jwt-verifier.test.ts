import { createHmac } from 'node:crypto'
import { exportSPKI, type JWTPayload, SignJWT } from 'jose'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createJwtVerifier, type JwtSettings } from './jwt-verifier.ts'
import {
  CLAIMS,
  createSigningKey,
  type KeyServer,
  NOW,
  openKeyServer,
  problemOf,
  SETTINGS,
  type SigningKey,
  START,
  sign,
} from './key-server.test-kit.ts'

const SECRET = 'a shared secret of more than 32 bytes'

const key: SigningKey = await createSigningKey('k1')

let issuer: KeyServer
let clock: number

beforeEach(async () => {
  clock = START
  issuer = await openKeyServer([key])
})

afterEach(() => issuer.close())

const verifierFor = (settings: Partial<JwtSettings> = {}) =>
  createJwtVerifier({ ...SETTINGS, jwksUri: issuer.url, ...settings }, { now: () => clock })

const verifierOfSecret = () =>
  createJwtVerifier({ ...SETTINGS, secret: SECRET, algorithms: ['HS256'] }, { now: () => clock })

const signedBySecret = (claims: JWTPayload, secret: string) =>
  new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(new TextEncoder().encode(secret))

const base64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

describe('a valid token', () => {
  it('returns its claims, and the time when they expire', async () => {
    const claims = { ...CLAIMS, session_id: 's1', roles: ['reader'] }
    expect(await verifierFor().verify(await sign(key, claims))).toEqual({ claims, expiresAt: (NOW + 65) * 1_000 })
  })

  it.each(['RS256', 'EdDSA', 'ES256'])('may be signed with %s', async (alg) => {
    const other = await createSigningKey('other', alg)
    issuer.keys = [key.jwk, other.jwk]
    expect(await verifierFor().verify(await sign(other, CLAIMS))).toMatchObject({ claims: { sub: 'ada' } })
  })

  it('may be signed with the shared secret', async () => {
    const token = await signedBySecret(CLAIMS, SECRET)
    expect(await verifierOfSecret().verify(token)).toMatchObject({ claims: { sub: 'ada' } })
  })

  it('may be signed with the secret or with a published key, but never with one in place of the other', async () => {
    const settings = { secret: SECRET, algorithms: ['HS256', 'RS256'] }
    const rsa = await createSigningKey('rsa', 'RS256')
    issuer.keys = [rsa.jwk]
    const verifier = verifierFor(settings)
    expect(problemOf(await verifier.verify(await sign(rsa, CLAIMS)))).toBe('accepted')
    expect(problemOf(await verifier.verify(await signedBySecret(CLAIMS, SECRET)))).toBe('accepted')
    expect(problemOf(await verifier.verify(await sign(key, CLAIMS)))).toContain('algorithm')
    const pem = await exportSPKI(rsa.publicKey)
    for (const secret of [pem, pem.trim(), JSON.stringify(rsa.jwk)]) {
      const forged = await signedBySecret(CLAIMS, secret)
      expect(problemOf(await verifier.verify(forged))).toContain('signature')
    }
  })

  it('may name Ed25519 by its newer name', async () => {
    const edwards = await createSigningKey('edwards', 'Ed25519')
    issuer.keys = [edwards.jwk]
    const verifier = verifierFor({ algorithms: ['EdDSA', 'Ed25519'] })
    expect(problemOf(await verifier.verify(await sign(edwards, CLAIMS)))).toBe('accepted')
  })

  it.each(['JWT', 'at+jwt', 'application/at+JWT', undefined])('may have the type %s', async (typ) => {
    expect(problemOf(await verifierFor().verify(await sign(key, CLAIMS, { typ })))).toBe('accepted')
  })

  it('may name several audiences, and needs no key id if only one key fits', async () => {
    const token = await sign(key, { ...CLAIMS, aud: ['other', 'sallyport'] }, { kid: undefined })
    expect(problemOf(await verifierFor().verify(token))).toBe('accepted')
  })

  it('may be slightly expired or early, within the tolerance', async () => {
    const token = await sign(key, { ...CLAIMS, exp: NOW - 4, nbf: NOW + 4 })
    expect(problemOf(await verifierFor().verify(token))).toBe('accepted')
  })
})

describe('a token is refused', () => {
  const refusedClaims: readonly [string, Record<string, unknown>][] = [
    ['has expired', { exp: NOW - 5 }],
    ['never expires', { exp: undefined }],
    ['has a string as exp', { exp: `${NOW + 60}` }],
    ['is not valid yet', { nbf: NOW + 6 }],
    ['has another issuer', { iss: `${CLAIMS.iss}/` }],
    ['has no issuer', { iss: undefined }],
    ['has a list of issuers', { iss: [CLAIMS.iss] }],
    ['is for another audience', { aud: 'other' }],
    ['is for nobody', { aud: undefined }],
    ['is for an object', { aud: { sallyport: true } }],
    ['has no subject', { sub: undefined }],
  ]

  it.each(refusedClaims)('when it %s', async (_, claims) => {
    const outcome = await verifierFor().verify(await sign(key, { ...CLAIMS, ...claims }))
    expect(outcome).toHaveProperty('certainty')
    expect(problemOf(outcome)).toMatch(/^[\x20-\x7e]+$/)
    expect(problemOf(outcome)).not.toContain('ada')
  })

  it('for now only, when it is not valid yet', async () => {
    const verifier = verifierFor()
    const token = await sign(key, { ...CLAIMS, nbf: NOW + 6 })
    expect(await verifier.verify(token)).toMatchObject({ certainty: 'for-now' })
    clock += 1_000
    expect(problemOf(await verifier.verify(token))).toBe('accepted')
  })

  it('when it names an audience and none is configured, but not when it names none', async () => {
    const verifier = verifierFor({ audience: [] })
    expect(problemOf(await verifier.verify(await sign(key, CLAIMS)))).toContain('claim aud')
    expect(problemOf(await verifier.verify(await sign(key, { ...CLAIMS, aud: undefined })))).toBe('accepted')
  })

  it.each(['none', 'None', 'NONE', ''])('when its algorithm is "%s"', async (alg) => {
    const unsigned = `${base64({ alg, kid: 'k1' })}.${base64(CLAIMS)}.`
    for (const token of [unsigned, `${unsigned}AAAA`, `${unsigned}${(await sign(key, CLAIMS)).split('.')[2]}`])
      for (const verifier of [verifierFor(), verifierOfSecret()])
        expect(await verifier.verify(token)).toMatchObject({ certainty: 'final' })
  })

  it('when the public key was used as a shared secret', async () => {
    const rsa = await createSigningKey('rsa', 'RS256')
    issuer.keys = [rsa.jwk]
    const pem = await exportSPKI(rsa.publicKey)
    const signed = `${base64({ alg: 'HS256', kid: 'rsa' })}.${base64(CLAIMS)}`
    for (const secret of [pem, pem.trim(), JSON.stringify(rsa.jwk)]) {
      const forged = `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
      expect(problemOf(await verifierFor().verify(forged))).toContain('algorithm')
    }
  })

  it('when it brings its own key', async () => {
    const mine = await createSigningKey('k1')
    const evil = await openKeyServer([mine])
    try {
      for (const header of [{}, { jwk: mine.jwk }, { jku: evil.url }, { x5u: evil.url }, { jku: evil.url, kid: 'x' }])
        expect(await verifierFor().verify(await sign(mine, CLAIMS, header))).toHaveProperty('certainty')
      expect(evil.fetches).toBe(0)
    } finally {
      await evil.close()
    }
  })

  it('when there is no key of the algorithm family that it claims, whatever is listed', async () => {
    const listed = { algorithms: ['HS256', 'ES256'] }
    expect(problemOf(await verifierFor(listed).verify(await signedBySecret(CLAIMS, SECRET)))).toContain('algorithm')
    const secretAlone = createJwtVerifier({ ...SETTINGS, ...listed, secret: SECRET }, { now: () => clock })
    expect(problemOf(await secretAlone.verify(await sign(key, CLAIMS)))).toContain('algorithm')
  })

  it('when another secret signed it', async () => {
    const token = await signedBySecret(CLAIMS, `${SECRET}.`)
    expect(problemOf(await verifierOfSecret().verify(token))).toContain('signature')
  })

  it.each([
    { crit: ['exp'], exp: NOW },
    { crit: ['unknown'], unknown: 1 },
    { typ: 'logout+jwt' },
    { typ: 'dpop+jwt' },
    { typ: '' },
  ])('when its header says %j', async (header) => {
    const head = base64({ alg: 'HS256', ...header })
    const body = `${head}.${base64(CLAIMS)}`
    const token = `${body}.${createHmac('sha256', SECRET).update(body).digest('base64url')}`
    expect(await verifierOfSecret().verify(token)).toMatchObject({ certainty: 'final' })
  })

  it('when any one character of it is changed', async () => {
    const token = await signedBySecret(CLAIMS, SECRET)
    const verifier = verifierOfSecret()
    // The last character has bits that the encoding ignores.
    for (let at = 0; at < token.length - 1; at += 7) {
      const changed = `${token.slice(0, at)}${token[at] === 'A' ? 'B' : 'A'}${token.slice(at + 1)}`
      expect(await verifier.verify(changed)).toHaveProperty('certainty')
    }
  })

  it('when it is cut, padded, spaced, nested or huge, without a request to the issuer', async () => {
    const token = await sign(key, CLAIMS)
    const [head, body, signature] = token.split('.')
    const broken = [
      '',
      '.',
      '..',
      'x',
      `${head}.${body}`,
      `${head}.${body}.`,
      `.${body}.${signature}`,
      `${token}.`,
      `${token}.x.y`,
      ` ${token}`,
      `${token}\n`,
      `${head}. ${body}.${signature}`,
      `${head}.${body}=.${signature}`,
      `${head}.${body}.${signature}+/`,
      'x'.repeat(1_000_000),
      await sign(key, { ...CLAIMS, more: 'x'.repeat(8_000) }),
    ]
    const verifier = verifierFor()
    for (const text of broken) expect(await verifier.verify(text)).toMatchObject({ certainty: 'final' })
    expect(issuer.fetches).toBe(0)
  })

  it.each([[], null, 'text', 7])('when its claims are %j', async (claims) => {
    const body = `${base64({ alg: 'HS256' })}.${base64(claims)}`
    const token = `${body}.${createHmac('sha256', SECRET).update(body).digest('base64url')}`
    expect(await verifierOfSecret().verify(token)).toMatchObject({ certainty: 'final' })
  })
})
