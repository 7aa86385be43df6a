import { createHmac } from 'node:crypto'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { createMcpServer } from '../mcp-server.ts'
import { type Authentication, type AuthenticatorOptions, createAuthenticator } from './authenticator.ts'
import { CLAIMS, createSigningKey, NOW, openKeyServer, START, sign } from './key-server.test-kit.ts'

const SECRET = 'a shared secret of more than 32 bytes'
const JWT = { secret: SECRET, issuers: [CLAIMS.iss], audience: CLAIMS.aud }

const encode = (part: unknown) => Buffer.from(JSON.stringify(part)).toString('base64url')

function bearer(claims: object): string {
  const signed = `${encode({ alg: 'HS256' })}.${encode({ ...CLAIMS, ...claims })}`
  return `Bearer ${signed}.${createHmac('sha256', SECRET).update(signed).digest('base64url')}`
}

const authenticatorOf = (options: Partial<AuthenticatorOptions> = {}) =>
  createAuthenticator({ auth: { jwt: JWT }, now: () => START, ...options })

const identify = (authorization: string | readonly string[] | undefined) =>
  authenticatorOf().authenticate({ authorization })

/** RFC 7235: a scheme and parameters, each value quoted, without characters that would end a quote or a header. */
const CHALLENGE = /^Bearer [a-z_]+="[\x20\x21\x23-\x5b\x5d-\x7e]*"(, [a-z_]+="[\x20\x21\x23-\x5b\x5d-\x7e]*")*$/

const refusalOf = (found: Authentication) => {
  if (!('status' in found) || found.status !== 401) throw new Error('It was not refused.')
  expect(found.wwwAuthenticate).toMatch(CHALLENGE)
  return found
}

describe(`${promise('KIT-1')} a caller over HTTP`, () => {
  it('is the subject and session of the token, with its other claims', async () => {
    expect(await identify(bearer({ session_id: 's1', team: ['x'] }))).toEqual({
      identity: { userId: 'ada', sessionId: 's1', claims: { ...CLAIMS, session_id: 's1', team: ['x'] } },
      expiresAt: (CLAIMS.exp + 5) * 1_000,
    })
  })

  it('has a default session if the token names none', async () => {
    expect(await identify(bearer({}))).toMatchObject({ identity: { userId: 'ada', sessionId: 'jwt:ada' } })
    expect(await identify(bearer({ sub: 'bob' }))).toMatchObject({ identity: { sessionId: 'jwt:bob' } })
  })

  it('without a token is asked for one, without an error code', async () => {
    for (const header of [undefined, 'Basic YTpi', 'Bearerx y', ''])
      expect(refusalOf(await identify(header)).wwwAuthenticate).toBe('Bearer realm="mcp"')
  })

  it.each([
    'Bearer',
    'Bearer ',
    'bearer a b',
    'Bearer  a',
    'Bearer a, Bearer b',
    'Bearer "a"',
    `Bearer ${'x'.repeat(9_000)}`,
    'Bearer a\r\nx: y',
    `Bearer ${encode({ alg: 'none' })}.${encode(CLAIMS)}.`,
  ])('with %j is refused, and the message contains nothing of it', async (header) => {
    const { wwwAuthenticate, problem } = refusalOf(await identify(header))
    expect(wwwAuthenticate).toContain('error="invalid_token", error_description="The ')
    expect(`${wwwAuthenticate} ${problem}`).not.toMatch(/xxxx|eyJ|Bearer b|x: y/)
  })

  it('with two Authorization headers is refused', async () => {
    expect(refusalOf(await identify([bearer({}), bearer({ sub: 'eve' })])).problem).toContain('not one bearer token')
    expect(await identify([bearer({})])).toMatchObject({ identity: { userId: 'ada' } })
  })

  it('whose token is forged learns the reason, but no contents of the token', async () => {
    const forged = bearer({ sub: 'tell-nobody' }).replace(/\.[^.]*$/, `.${'A'.repeat(43)}`)
    const { wwwAuthenticate, problem } = refusalOf(await identify(forged))
    expect(wwwAuthenticate).toContain(`error_description="The token's signature does not verify"`)
    expect(`${wwwAuthenticate}${problem}`).not.toContain('tell-nobody')
  })

  it.each([
    { sub: '' },
    { sub: 'a\nb' },
    { sub: ['ada'] },
    { session_id: '' },
    { session_id: null },
    { session_id: 7 },
  ])('with the claims %j is refused', async (claims) => {
    expect(refusalOf(await identify(bearer(claims))).problem).toMatch(/claim (sub|session_id) is missing or not/)
  })

  it('is told where to get tokens, if that is configured', async () => {
    const resourceMetadata = 'https://records.example/.well-known/oauth-protected-resource'
    const found = await authenticatorOf({ auth: { jwt: JWT, resourceMetadata } }).authenticate({})
    expect(refusalOf(found).wwwAuthenticate).toBe(`Bearer realm="mcp", resource_metadata="${resourceMetadata}"`)
    expect(() => authenticatorOf({ auth: { jwt: JWT, resourceMetadata: 'x"y' } })).toThrow(/resourceMetadata/)
  })

  it('is a different user than one of the same name at another issuer', async () => {
    const other = 'https://other.example'
    const auth = { jwt: { ...JWT, issuers: [CLAIMS.iss, other] } }
    const found = await authenticatorOf({ auth }).authenticate({ authorization: bearer({ iss: other }) })
    expect(found).toMatchObject({ identity: { userId: `${other}#ada` } })
  })

  it('is accepted only as long as the token is valid', async () => {
    let now = START
    const authenticator = authenticatorOf({ now: () => now })
    const headers = { authorization: bearer({ exp: NOW + 10 }) }
    const first = await authenticator.authenticate(headers)
    now += 14_999
    expect(await authenticator.authenticate(headers)).toBe(first)
    now += 1
    expect(refusalOf(await authenticator.authenticate(headers)).problem).toBe('The token has expired.')
  })

  it('cannot change the claims that the next request of the token sees', async () => {
    const found = await identify(bearer({ roles: { admin: false } }))
    if (!('identity' in found)) throw new Error('It was refused.')
    const { claims } = found.identity as { claims: Record<string, any> }
    expect(() => {
      claims.roles.admin = true
    }).toThrow(TypeError)
  })
})

it('if keys cannot be fetched the caller gets 503, and the next request may pass', async () => {
  const key = await createSigningKey('k1')
  const issuer = await openKeyServer([key])
  onTestFinished(() => issuer.close())
  issuer.answer = (response) => response.writeHead(500).end()
  let now = START
  const jwt = { jwksUri: issuer.url, issuers: [CLAIMS.iss], audience: CLAIMS.aud }
  const authenticator = createAuthenticator({ auth: { jwt }, now: () => now })
  const headers = { authorization: `Bearer ${await sign(key, CLAIMS)}` }
  expect(await authenticator.authenticate(headers)).toEqual({
    status: 503,
    retryAfterSeconds: 3,
    problem: 'The token cannot be verified at the moment.',
  })
  issuer.answer = undefined
  now += 3_000
  expect(await authenticator.authenticate(headers)).toMatchObject({ identity: { userId: 'ada' } })
  issuer.keys = []
  expect(await authenticator.authenticate(headers)).toMatchObject({ identity: { userId: 'ada' } })
  expect(issuer.fetches).toBe(2)
})

it('a key set that hangs delays only its own tokens, and is fetched once', async () => {
  const key = await createSigningKey('k1')
  const issuer = await openKeyServer([key])
  onTestFinished(() => issuer.close())
  const asked: (() => void)[] = []
  issuer.answer = (response) => asked.push(() => response.end(JSON.stringify({ keys: issuer.keys })))
  const jwt = { jwksUri: issuer.url, issuers: [CLAIMS.iss], audience: CLAIMS.aud }
  const authenticator = createAuthenticator({ auth: { jwt }, now: () => START })
  const headers = { authorization: `Bearer ${await sign(key, CLAIMS)}` }
  const waiting = Promise.all(Array.from({ length: 50 }, () => authenticator.authenticate(headers)))
  await expect.poll(() => asked).toHaveLength(1)
  expect(await authenticator.authenticate({})).toMatchObject({ status: 401 })
  asked[0]?.()
  expect(new Set(await waiting).size).toBe(1)
  expect(issuer.fetches).toBe(1)
})

describe('a server', () => {
  const printed = () => {
    const spy = vi.spyOn(console, 'error').mockImplementation(() => undefined)
    onTestFinished(() => spy.mockRestore())
    return spy
  }

  it('without auth and dev may not listen, and the error says what to do', async () => {
    const server = createMcpServer('records')
    expect(() => server.assertMayListen('127.0.0.1')).toThrow(/neither "auth" nor "dev"/)
    expect(refusalOf(await server.authenticate({ authorization: bearer({}) })).status).toBe(401)
  })

  it('with dev listens on loopback only, prints a warning, and has one user', async () => {
    const warning = printed()
    const server = createMcpServer('records', { dev: true })
    for (const host of ['127.0.0.1', '::1', 'localhost']) server.assertMayListen(host)
    expect(warning).toHaveBeenCalledTimes(3)
    expect(warning.mock.calls[0]?.[0]).toContain('DEV MODE')
    for (const host of ['0.0.0.0', '::', '', '10.0.0.1', 'example.com', '127.0.0.1.evil.example', 'LOCALHOST.'])
      expect(() => server.assertMayListen(host)).toThrow(/on loopback only/)
    expect(await server.authenticate({})).toEqual({ identity: { userId: 'dev', sessionId: 'dev' } })
  })

  it('with auth listens anywhere; with both it does not start', () => {
    createMcpServer('records', { auth: { jwt: JWT } }).assertMayListen('0.0.0.0')
    expect(() => createMcpServer('records', { auth: { jwt: JWT }, dev: true })).toThrow(/"auth" and "dev/)
  })

  it('whose secret is too short does not start', () => {
    expect(() => createMcpServer('records', { auth: { jwt: { secret: 'short' } } })).toThrow(
      /5 bytes; expected at least 32 for HS256/,
    )
  })
})
