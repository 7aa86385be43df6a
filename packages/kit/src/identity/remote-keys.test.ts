import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createJwtVerifier } from './jwt-verifier.ts'
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
} from './key-server.test-kit.ts'

const key = await createSigningKey('k1')

let issuer: KeyServer
let clock: number

beforeEach(async () => {
  clock = START
  issuer = await openKeyServer([key])
})

afterEach(() => issuer.close())

const verifierFor = () => createJwtVerifier({ ...SETTINGS, jwksUri: issuer.url }, { now: () => clock })

describe('the issuer’s keys', () => {
  it('are fetched once for many tokens', async () => {
    const verifier = verifierFor()
    const tokens = await Promise.all(Array.from({ length: 20 }, (_, i) => sign(key, { ...CLAIMS, sub: `user-${i}` })))
    const outcomes = await Promise.all(tokens.map((token) => verifier.verify(token)))
    expect(outcomes.map(problemOf)).toEqual(tokens.map(() => 'accepted'))
    expect(issuer.fetches).toBe(1)
  })

  it('are followed through a rotation', async () => {
    const verifier = verifierFor()
    expect(problemOf(await verifier.verify(await sign(key, CLAIMS)))).toBe('accepted')
    const next = await createSigningKey('k2')
    issuer.keys = [next.jwk]
    expect(problemOf(await verifier.verify(await sign(next, CLAIMS)))).toBe('accepted')
    expect(problemOf(await verifier.verify(await sign(key, CLAIMS)))).toContain('unknown key')
  })

  it('are not accepted any more ten minutes after they were revoked', async () => {
    const verifier = verifierFor()
    const token = await sign(key, { ...CLAIMS, exp: NOW + 3600 })
    expect(problemOf(await verifier.verify(token))).toBe('accepted')
    issuer.keys = [(await createSigningKey('k2')).jwk]
    clock += 10 * 60_000
    expect(problemOf(await verifier.verify(token))).toContain('unknown key')
  })

  it.each(['../../etc/passwd', 'k1/../k2', 'K1', 'k1\u0000', '', '__proto__', 'http://127.0.0.1/x'])(
    'are not found by the key id %j',
    async (kid) => {
      expect(await verifierFor().verify(await sign(key, CLAIMS, { kid }))).toHaveProperty('certainty')
    },
  )

  it('are fetched once more for unknown key ids, not once for each', async () => {
    const verifier = verifierFor()
    await verifier.verify(await sign(key, CLAIMS))
    const strangers = await Promise.all(
      Array.from({ length: 30 }, (_, i) => sign(key, CLAIMS, { kid: `unknown-${i}` })),
    )
    const together = await Promise.all(strangers.slice(0, 15).map((token) => verifier.verify(token)))
    for (const token of strangers.slice(15)) await verifier.verify(token)
    expect(together.every((outcome) => 'problem' in outcome && outcome.certainty === 'for-now')).toBe(true)
    expect(issuer.fetches).toBe(2)
    clock += 10_000
    for (const token of strangers) await verifier.verify(token)
    expect(issuer.fetches).toBe(3)
  })

  it('that cannot be fetched make tokens unverifiable, and are fetched again after a pause', async () => {
    const verifier = verifierFor()
    const token = await sign(key, CLAIMS)
    issuer.answer = (response) => response.writeHead(500).end()
    expect(await verifier.verify(token)).toMatchObject({ certainty: 'unverifiable' })
    expect(await verifier.verify(token)).toMatchObject({ certainty: 'unverifiable' })
    expect(issuer.fetches).toBe(1)
    issuer.answer = undefined
    clock += 3_000
    expect(problemOf(await verifier.verify(token))).toBe('accepted')
  })

  it('are not read from an answer that is nested deeply', async () => {
    const deep = `{"x":${'['.repeat(200)}${']'.repeat(200)},"keys":[${JSON.stringify(key.jwk)}]}`
    issuer.answer = (response) => response.setHeader('content-type', 'application/json').end(deep)
    expect(await verifierFor().verify(await sign(key, CLAIMS))).toHaveProperty('problem')
  })

  it('stay valid for at most an hour while the issuer is down', async () => {
    const verifier = verifierFor()
    const token = await sign(key, { ...CLAIMS, exp: NOW + 2 * 3600 })
    await verifier.verify(token)
    issuer.answer = (response) => response.destroy()
    clock += 59 * 60_000
    expect(problemOf(await verifier.verify(token))).toBe('accepted')
    clock += 60_000
    expect(await verifier.verify(token)).toMatchObject({ certainty: 'unverifiable' })
  })

  it.each([
    ['a redirect', (response) => response.writeHead(302, { location: issuer.url }).end()],
    ['no JSON', (response) => response.end('<html>')],
    ['an invalid key set', (response) => response.end('{"keys":{}}')],
    [
      'half an answer',
      (response) => response.writeHead(200, { 'content-length': '100' }).write('{', () => response.destroy()),
    ],
    ['an answer of a megabyte', (response) => response.end(JSON.stringify({ keys: issuer.keys }).padEnd(1024 * 1024))],
  ] satisfies [string, NonNullable<KeyServer['answer']>][])('are not taken from %s', async (_, answer) => {
    issuer.answer = answer
    expect(await verifierFor().verify(await sign(key, CLAIMS))).toMatchObject({ certainty: 'unverifiable' })
    expect(issuer.fetches).toBe(1)
  })

  it('are not guessed if two of them fit', async () => {
    issuer.keys = [key.jwk, (await createSigningKey('k2')).jwk]
    const token = await sign(key, CLAIMS, { kid: undefined })
    expect(problemOf(await verifierFor().verify(token))).toContain('which of several keys')
  })
})
