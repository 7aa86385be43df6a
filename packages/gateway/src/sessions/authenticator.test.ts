import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  CLAIMS,
  createSigningKey,
  type KeyServer,
  NOW,
  openKeyServer,
  SETTINGS,
  sign,
} from '../../../kit/src/identity/key-server.test-kit.ts'
import { type Authentication, type AuthenticatorOptions, createAuthenticator, isRefusal } from './authenticator.ts'
import { createPrincipalVerifier, type PrincipalVerifier } from './jwt-principal.ts'
import { mintFor, nextChange, readStandingToken, TestTokens } from './local-tokens.test-kit.ts'
import type { LocalTokens } from './local-tokens.ts'

const testTokens = new TestTokens()
const key = await createSigningKey('k1')

let issuer: KeyServer
let tokens: LocalTokens
let verifications: number

beforeEach(async () => {
  issuer = await openKeyServer([key])
  tokens = await testTokens.open()
  verifications = 0
})

afterEach(() => issuer.close())

const authenticator = (options: Partial<AuthenticatorOptions> = {}) =>
  createAuthenticator({ tokens, now: () => testTokens.clock, ...options })

/** The real verifier, with a call counter. */
function countedJwt(): PrincipalVerifier {
  const verifier = createPrincipalVerifier({ ...SETTINGS, jwksUri: issuer.url }, { now: () => testTokens.clock })
  return {
    verify(token) {
      verifications++
      return verifier.verify(token)
    },
  }
}

function refusalOf(authentication: Authentication | Promise<Authentication>) {
  if (authentication instanceof Promise || !isRefusal(authentication))
    throw new Error('It was not refused synchronously.')
  return { code: authentication.refused.code, text: authentication.refused.text, challenge: authentication.challenge }
}

describe('a local token', () => {
  it('is verified synchronously', async () => {
    const { token, record } = await mintFor(tokens)
    const { authenticate } = bound(authenticator())
    const first = authenticate(`Bearer ${token}`)
    expect(first).toMatchObject({ agent: 'codex', session: record.session, role: 'agent' })
    expect(authenticate(`Bearer ${token}`)).toBe(first)
    expect(authenticate(`Bearer ${readStandingToken(testTokens.state, 'operator')}`)).toMatchObject({
      role: 'operator',
    })
  })

  it('expires, also if it is cached', async () => {
    const { token } = await tokens.mint({ agent: 'codex', profile: 'default', ttlMs: 1_000 })
    const { authenticate } = bound(authenticator())
    testTokens.clock += 999
    expect(authenticate(`Bearer ${token}`)).toMatchObject({ agent: 'codex' })
    testTokens.clock += 1
    expect(refusalOf(authenticate(`Bearer ${token}`)).code).toBe('UNAUTHENTICATED')
  })

  it('is invalid once it is revoked here or in another process, also if it is cached', async () => {
    const [here, there] = [await mintFor(tokens), await mintFor(tokens)]
    const { authenticate } = bound(authenticator())
    for (const { token } of [here, there]) expect(authenticate(`Bearer ${token}`)).toMatchObject({ agent: 'codex' })
    await tokens.revoke(here.record.id)
    expect(refusalOf(authenticate(`Bearer ${here.token}`)).code).toBe('UNAUTHENTICATED')
    expect(authenticate(`Bearer ${there.token}`)).toMatchObject({ agent: 'codex' })
    const other = await testTokens.open()
    const noticed = nextChange(tokens)
    await other.revoke(there.record.id)
    await noticed
    expect(refusalOf(authenticate(`Bearer ${there.token}`)).code).toBe('UNAUTHENTICATED')
  })
})

describe('the Authorization header', () => {
  it('must be present', () => {
    const { authenticate } = bound(authenticator())
    expect(refusalOf(authenticate(undefined))).toMatchObject({
      code: 'UNAUTHENTICATED',
      challenge: 'Bearer realm="sallyport"',
    })
    for (const other of ['', 'Basic dTpw', 'Digest x', 'bearerx y'])
      expect(refusalOf(authenticate(other)).challenge).toBe('Bearer realm="sallyport"')
  })

  it.each([
    ['Bearer', 'The bearer token is empty.'],
    ['Bearer ', 'The bearer token is empty.'],
    [`Bearer \${SALLYPORT_TOKEN_CURSOR}`, 'the name of a variable'],
    [`Bearer \${env:SALLYPORT_TOKEN_CURSOR}`, 'the name of a variable'],
    ['Bearer {env:TOKEN}', 'the name of a variable'],
    ['bearer $TOKEN', 'the name of a variable'],
    ['Bearer <the token>', 'the name of a variable'],
  ])('gets an explanation of what is wrong with %j', (header, message) => {
    expect(authenticator().authenticate(header)).toMatchObject({
      refused: { code: 'UNAUTHENTICATED', message: expect.stringContaining(message) },
    })
  })

  it('has a case-insensitive scheme', async () => {
    const { token } = await mintFor(tokens)
    for (const scheme of ['bearer', 'BEARER', 'Bearer'])
      expect(authenticator().authenticate(`${scheme} ${token}`)).toMatchObject({ agent: 'codex' })
  })

  it('is exactly one token after one space', async () => {
    const { token } = await mintFor(tokens)
    const { authenticate } = bound(authenticator({ jwt: countedJwt() }))
    const invalid = [
      'Bearer',
      'Bearer ',
      `Bearer  ${token}`,
      `Bearer\t${token}`,
      ` Bearer ${token}`,
      `Bearer ${token} `,
      `Bearer ${token}\n`,
      `Bearer ${token} ${token}`,
      `Bearer ${token}, Bearer ${token}`,
      `Bearer ${token.slice(0, 20)} ${token.slice(20)}`,
      `Bearer "${token}"`,
      `Bearer ${token}\u0000`,
      `Bearer tökén`,
      `Bearer ${'a'.repeat(9_000)}`,
      token,
    ]
    for (const header of invalid) expect(refusalOf(authenticate(header)).code).toBe('UNAUTHENTICATED')
    expect(verifications).toBe(0)
  })

  it('is never repeated in the refusal', async () => {
    const jwt = await sign(key, { ...CLAIMS, aud: 'secret-audience' })
    const { authenticate } = bound(authenticator({ jwt: countedJwt() }))
    const sent = ['spa_AAAA', `spo_${'A'.repeat(43)}`, 'x"y', 'hunter2', 'a.b.c', jwt]
    for (const token of sent) {
      const outcome = await authenticate(`Bearer ${token}`)
      if (!isRefusal(outcome)) throw new Error('It was not refused.')
      const shown = `${outcome.refused.text} ${outcome.challenge}`
      expect(shown).not.toContain(token)
      expect(shown).not.toContain('secret-audience')
      expect(outcome.challenge).toMatch(
        /^Bearer realm="sallyport", error="invalid_token", error_description="[\x20\x21\x23-\x5b\x5d-\x7e]+"$/,
      )
    }
  })
})

describe('a JWT', () => {
  it('is verified once and then cached until it expires', async () => {
    const { authenticate } = bound(authenticator({ jwt: countedJwt() }))
    const header = `Bearer ${await sign(key, { ...CLAIMS, exp: NOW + 30 })}`
    const first = authenticate(header)
    expect(first).toBeInstanceOf(Promise)
    expect(await first).toMatchObject({ user: 'ada', role: 'agent' })
    testTokens.clock += 34_999
    expect(authenticate(header)).toMatchObject({ user: 'ada' })
    expect(verifications).toBe(1)
    testTokens.clock += 1
    expect(await authenticate(header)).toHaveProperty('refused')
    expect(refusalOf(authenticate(header)).text).toContain('expired')
    expect(verifications).toBe(2)
  })

  it('is verified again after a minute, so that a withdrawn key ends it', async () => {
    const { authenticate } = bound(authenticator({ jwt: countedJwt() }))
    const header = `Bearer ${await sign(key, { ...CLAIMS, exp: NOW + 3600 })}`
    await authenticate(header)
    issuer.keys = [(await createSigningKey('k2')).jwk]
    testTokens.clock += 10 * 60_000
    expect(await authenticate(header)).toHaveProperty('refused')
  })

  it('is verified once for all parallel requests', async () => {
    const { authenticate } = bound(authenticator({ jwt: countedJwt() }))
    const header = `Bearer ${await sign(key, CLAIMS)}`
    const all = await Promise.all(Array.from({ length: 50 }, () => authenticate(header)))
    expect(new Set(all).size).toBe(1)
    expect(verifications).toBe(1)
  })

  it('that is invalid is verified only once, however often it is sent', async () => {
    const { authenticate } = bound(authenticator({ jwt: countedJwt() }))
    const header = `Bearer ${await sign(key, { ...CLAIMS, aud: 'other' })}`
    expect(await authenticate(header)).toHaveProperty('refused')
    for (let again = 0; again < 20; again++) expect(refusalOf(authenticate(header)).code).toBe('UNAUTHENTICATED')
    expect(verifications).toBe(1)
  })

  it('that is not valid yet is accepted later', async () => {
    const { authenticate } = bound(authenticator({ jwt: countedJwt() }))
    const header = `Bearer ${await sign(key, { ...CLAIMS, nbf: NOW + 6 })}`
    expect(await authenticate(header)).toHaveProperty('refused')
    testTokens.clock += 1_000
    expect(await authenticate(header)).toMatchObject({ user: 'ada' })
  })

  it('is refused with "try again" if too many are being verified', async () => {
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    issuer.answer = (response) => void held.then(() => response.end(JSON.stringify({ keys: issuer.keys })))
    const { authenticate } = bound(authenticator({ jwt: countedJwt() }))
    const headers = await Promise.all(
      Array.from({ length: 65 }, async (_, i) => `Bearer ${await sign(key, { ...CLAIMS, sub: `u${i}` })}`),
    )
    const first = headers.slice(0, 64).map((header) => authenticate(header))
    expect(refusalOf(authenticate(headers[64]))).toMatchObject({ code: 'OVERLOADED', challenge: undefined })
    release()
    expect((await Promise.all(first)).some(isRefusal)).toBe(false)
    expect(await authenticate(headers[64])).toMatchObject({ user: 'u64' })
  })

  it('that cannot be verified now is not reported as invalid', async () => {
    issuer.answer = (response) => response.destroy()
    const { authenticate } = bound(authenticator({ jwt: countedJwt() }))
    const header = `Bearer ${await sign(key, CLAIMS)}`
    expect(await authenticate(header)).toMatchObject({ refused: { code: 'OVERLOADED' }, challenge: undefined })
    issuer.answer = undefined
    testTokens.clock += 3_000
    expect(await authenticate(header)).toMatchObject({ user: 'ada' })
  })

  it('is refused if no issuer is configured', async () => {
    expect(refusalOf(authenticator().authenticate(`Bearer ${await sign(key, CLAIMS)}`)).code).toBe('UNAUTHENTICATED')
  })
})

describe('without authentication', () => {
  it('every caller is the local agent, and a valid token still works', async () => {
    const { authenticate } = bound(authenticator({ noAuth: true, jwt: countedJwt() }))
    const local = { agent: 'any', profile: 'default', session: 'local', role: 'agent' }
    for (const header of [undefined, '', 'Basic x', 'Bearer', `Bearer spo_${'A'.repeat(43)}`, 'Bearer a.b.c'])
      expect(await authenticate(header)).toMatchObject(local)
    expect(await authenticate('Bearer a.b.c')).toMatchObject(local)
    const operator = readStandingToken(testTokens.state, 'operator')
    expect(authenticate(`Bearer ${operator}`)).toMatchObject({ role: 'operator' })
    const { token } = await mintFor(tokens)
    expect(authenticate(`Bearer ${token}`)).toMatchObject({ agent: 'codex' })
  })
})

it('stops listening for token changes once it is closed', async () => {
  const listeners = new Set<() => void>()
  const source = {
    verify: (text: string) => tokens.verify(text),
    onChange(listener: () => void) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
  const closing = authenticator({ tokens: source })
  expect(listeners.size).toBe(1)
  closing.close()
  expect(listeners.size).toBe(0)
})

function bound(subject: ReturnType<typeof createAuthenticator>) {
  return { authenticate: (header: string | undefined) => subject.authenticate(header) }
}
