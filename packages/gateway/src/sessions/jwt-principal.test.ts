import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import {
  CLAIMS,
  createSigningKey,
  type KeyServer,
  NOW,
  openKeyServer,
  problemOf,
  SETTINGS,
  START,
  sign,
} from '../../../kit/src/identity/key-server.test-kit.ts'
import type { JwtSettings } from '../config/config.ts'
import { createPrincipalVerifier } from './jwt-principal.ts'

const key = await createSigningKey('k1')

let issuer: KeyServer

beforeEach(async () => {
  issuer = await openKeyServer([key])
})

afterEach(() => issuer.close())

const verifierFor = (settings: Partial<JwtSettings> = {}) =>
  createPrincipalVerifier({ ...SETTINGS, jwksUri: issuer.url, ...settings }, { now: () => START })

describe('the principal of a valid token', () => {
  it('is built from its claims, and is always an agent', async () => {
    const claims = { ...CLAIMS, agent: 'codex', profile: 'reviewer', session_id: 's1', role: 'operator' }
    expect(await verifierFor().verify(await sign(key, claims))).toEqual({
      principal: { user: 'ada', agent: 'codex', profile: 'reviewer', session: 's1', role: 'agent' },
      expiresAt: (NOW + 65) * 1_000,
    })
  })

  it('without further claims is any agent in the default session of its user', async () => {
    expect(await verifierFor().verify(await sign(key, CLAIMS))).toMatchObject({
      principal: { user: 'ada', agent: 'any', profile: 'default', session: 'jwt:ada', role: 'agent' },
    })
  })

  it.each([
    ['of local tokens', 'local', 'local~'],
    ['of the operator', 'operator', 'operator~'],
    ['of a minted token', 'token:5f1c', 'token:5f1c~'],
    ['after another one that was ended', 'work~2', 'work~2~'],
    ['that such a one becomes', 'work~2~', 'work~2~~'],
    ['that `local` becomes', 'local~', 'local~~'],
    ['after that one', 'local~~2', 'local~~2~'],
  ])(`is never in a session %s, whatever its issuer says (${promise('SEN-3')})`, async (_, session_id, session) => {
    expect(await verifierFor().verify(await sign(key, { ...CLAIMS, session_id }))).toMatchObject({
      principal: { session },
    })
  })

  it.each(['work', 'Local', 'local~x', 'work~', '~2~x', 'jwt:ada'])(
    'is in the session that its issuer names otherwise: %s',
    async (session_id) => {
      expect(await verifierFor().verify(await sign(key, { ...CLAIMS, session_id }))).toMatchObject({
        principal: { session: session_id },
      })
    },
  )

  it('is another user if another issuer created it', async () => {
    const other = 'https://other.example'
    const verifier = verifierFor({ issuers: [CLAIMS.iss, other] })
    expect(await verifier.verify(await sign(key, CLAIMS))).toMatchObject({
      principal: { user: 'https://issuer.example#ada', session: 'jwt:https://issuer.example#ada' },
    })
    expect(await verifier.verify(await sign(key, { ...CLAIMS, iss: other }))).toMatchObject({
      principal: { user: 'https://other.example#ada' },
    })
    const long = await sign(key, { ...CLAIMS, sub: 'x'.repeat(250) })
    expect(problemOf(await verifier.verify(long))).toContain('claim sub')
  })
})

it.each([
  ['an empty subject', { sub: '' }],
  ['a number as its subject', { sub: 7 }],
  ['a huge subject', { sub: 'x'.repeat(257) }],
  ['a line break in its subject', { sub: 'ada\nroot' }],
  ['an empty session', { session_id: '' }],
  ['a null session', { session_id: null }],
  ['a list of agents', { agent: ['codex'] }],
  ['a number as its profile', { profile: 1 }],
])('a token with %s is refused', async (_, claims) => {
  const outcome = await verifierFor().verify(await sign(key, { ...CLAIMS, ...claims }))
  expect(outcome).toMatchObject({ certainty: 'final' })
  expect(problemOf(outcome)).not.toContain('ada')
})

it('for a token that cannot be verified, the hint names the config key to check', async () => {
  issuer.answer = (response) => response.writeHead(500).end()
  const outcome = await verifierFor().verify(await sign(key, CLAIMS))
  expect(outcome).toMatchObject({
    certainty: 'unverifiable',
    cause: { hint: expect.stringContaining('auth.jwt.jwks_uri') },
  })
})
