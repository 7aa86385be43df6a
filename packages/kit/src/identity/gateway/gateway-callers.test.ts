import { createHmac } from 'node:crypto'
import { mkdtemp, readdir, rm, utimes } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JsonObject } from '@sallyport/core'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { promise } from '../../../../../tests/promises.ts'
import { type KeyServer, openKeyServer } from '../key-server.test-kit.ts'
import { CallerSigner, callerClaims, now, SERVER_ID } from './caller-signer.test-kit.ts'
import type { ForwardedCaller } from './caller-token.ts'
import { GatewayCallers } from './gateway-callers.ts'
import { type GatewayAuthOptions, readGatewayOptions } from './gateway-options.ts'
import { spendToken } from './spent-tokens.ts'

const gateway = new CallerSigner('k1')
const encode = (part: unknown): string => Buffer.from(JSON.stringify(part)).toString('base64url')

let dataFolder: string
let clock: number

beforeEach(async () => {
  dataFolder = await mkdtemp(join(tmpdir(), 'gateway-callers-'))
  clock = Date.now()
})
afterEach(() => rm(dataFolder, { recursive: true, force: true }))

function callersOf(options: GatewayAuthOptions = { keys: gateway.keys }): GatewayCallers {
  return new GatewayCallers(readGatewayOptions({ audience: SERVER_ID, ...options }, {}), {
    dataFolder,
    now: () => clock,
  })
}

async function problemOf(token: unknown, callers = callersOf()): Promise<string> {
  const outcome = await callers.verify(token)
  return 'problem' in outcome ? outcome.problem : 'accepted'
}

describe(`${promise('SEN-19')} a caller token`, () => {
  it('says who calls, and what the gateway knows about the session', async () => {
    const token = gateway.token({
      label: 'SECRET',
      private: true,
      permissions: ['READ'],
      jti: 'j',
      connect: { tool: 'post' },
    })
    expect(await callersOf().verify(token)).toEqual({
      ...{ userId: 'ada', sessionId: 'work', agent: 'claude-code', profile: 'default', permissions: ['READ'] },
      ...{ label: 'SECRET', isPrivate: true, shapes: true, tokenId: 'j', approvedTool: 'post' },
    })
  })

  it('is verified once: after that it costs no signature, and no later than its end', async () => {
    const verified = vi.spyOn(globalThis.crypto.subtle, 'verify')
    onTestFinished(() => verified.mockRestore())
    const callers = callersOf()
    const token = gateway.token()
    const first = callers.verify(token)
    expect(callers.verify(token)).toBe(first)
    const caller = await first
    expect(callers.verify(token)).toBe(caller)
    expect(verified).toHaveBeenCalledTimes(1)
    clock += 64_000
    expect(callers.verify(token)).toBe(caller)
    clock += 2_000
    expect(await problemOf(token, callers)).toBe('The token has expired')
  })

  it('is refused if it is not a string', async () => {
    for (const token of [null, 7, {}, [gateway.token()]])
      expect(await problemOf(token)).toBe('The token is not a string')
  })

  const CLAIMS: readonly (readonly [string, JsonObject | (() => JsonObject)])[] = [
    ['another issuer', { iss: 'https://issuer.example' }],
    ['no issuer', { iss: undefined }],
    ['the audience of another server', { aud: 'files' }],
    ['no audience', { aud: undefined }],
    ['an expiry in the past', () => ({ iat: now() - 60, exp: now() - 10 })],
    ['no expiry', { exp: undefined }],
    ['an infinite expiry', { exp: 1e300 }],
    ['a time of issue in the future', () => ({ iat: now() + 30, exp: now() + 60 })],
    ['no time of issue', { iat: undefined }],
    ['an old time of issue', () => ({ iat: now() - 3_600, exp: now() + 60 })],
    ['a lifetime of an hour', () => ({ exp: now() + 3_600 })],
    ['an expiry that is a string', () => ({ exp: String(now() + 60) })],
    ['a time before which it is not valid', () => ({ nbf: now() + 30 })],
    ['no user', { sub: undefined }],
    ['an empty user', { sub: '' }],
    ['a user that is a number', { sub: 7 }],
    ['a user with a line break', { sub: 'ada\nroot' }],
    ['no session', { session: undefined }],
    ['an empty session', { session: ' ' }],
    ['no agent', { agent: undefined }],
    ['a profile that is a list', { profile: [] }],
    ['no permissions', { permissions: undefined }],
    ['permissions as a string', { permissions: 'READ' }],
    ['an unknown permission', { permissions: ['READ', 'ADMIN'] }],
    ['an unknown label', { label: 'TOP' }],
    ['a label in lower case', { label: 'secret' }],
    ['no label', { label: undefined }],
    ['private as a string', { private: 'false' }],
    ['shapes as a number', { shapes: 1 }],
    ['no id', { jti: undefined }],
    ['an approval without a tool', { connect: {} }],
    ['an approval of anything', { connect: true }],
  ]
  it.each(CLAIMS)('is refused with %s', async (_, claims) => {
    const changed = typeof claims === 'function' ? claims() : claims
    expect(await problemOf(gateway.token(changed))).toMatch(/^The token('s claim| has expired| is not valid yet)/)
  })

  const HEADERS: readonly (readonly [string, JsonObject])[] = [
    ['the type of a usual JWT', { typ: 'JWT' }],
    ['no type', { typ: undefined }],
    ['another spelling of the type', { typ: 'application/sallyport-caller+jwt' }],
    ['no key id', { kid: undefined }],
    ['an empty key id', { kid: '' }],
    ['an unknown key id', { kid: 'k2' }],
    ['a key id that is a number', { kid: 1 }],
    ['another name of the algorithm', { alg: 'Ed25519' }],
    ['a critical extension', { crit: ['x'], x: 1 }],
    ['a key of its own', { jwk: new CallerSigner('k1').publicJwk, kid: 'k2' }],
  ]
  it.each(HEADERS)('is refused with %s in its header', async (_, header) => {
    expect(await problemOf(gateway.token({}, header))).not.toBe('accepted')
  })

  it('is refused if another key signed it, whatever key it names', async () => {
    expect(await problemOf(new CallerSigner('k1').token())).toBe("The token's signature does not verify")
  })

  it.each(['none', 'None', 'HS256'])(
    'is refused with the algorithm %s, also with the public key as the secret',
    async (alg) => {
      const body = `${encode({ alg, typ: 'sallyport-caller+jwt', kid: 'k1' })}.${encode(callerClaims())}`
      const secrets = [gateway.publicPem, String(gateway.publicJwk.x), JSON.stringify(gateway.publicJwk)]
      const macs = secrets.map((secret) => createHmac('sha256', secret).update(body).digest('base64url'))
      for (const signature of ['', 'AAAA', ...macs])
        expect(await problemOf(`${body}.${signature}`)).not.toBe('accepted')
    },
  )

  it('is refused if a member is there twice, or if any part was changed', async () => {
    const header = encode({ alg: 'EdDSA', typ: 'sallyport-caller+jwt', kid: 'k1' })
    const claims = JSON.stringify(callerClaims())
    const doubled = Buffer.from(claims.replace('{', '{"sub":"root",')).toString('base64url')
    expect(await problemOf(gateway.signText(header, doubled))).toBe('The token has a duplicate member')
    const [head, body, signature] = gateway.token().split('.')
    const other = gateway.token({ sub: 'root' }).split('.')
    expect(await problemOf(`${head}.${other[1]}.${signature}`)).toBe("The token's signature does not verify")
    for (const token of [`${head}.${body}`, `${head}.${body}.`, ` ${head}.${body}.${signature}`, 'x'.repeat(9_000)])
      expect(await problemOf(token)).not.toBe('accepted')
  })

  it('tolerates clocks that differ by five seconds, and no more', async () => {
    expect(await problemOf(gateway.token({ iat: now() + 3, exp: now() + 63 }))).toBe('accepted')
    expect(await problemOf(gateway.token({ iat: now() - 62, exp: now() - 2 }))).toBe('accepted')
    expect(await problemOf(gateway.token({ exp: now() + 66 }))).toContain('claim exp')
  })

  it('is no token of a user, and a token of a user is none of these', async () => {
    const user = gateway.token({}, { typ: 'JWT' })
    expect(await problemOf(user)).toBe('The token was made for another purpose')
  })
})

describe('the published keys of a gateway', () => {
  let published: KeyServer
  beforeEach(async () => {
    published = await openKeyServer([])
    return () => published.close()
  })

  it('are fetched once, and again when the gateway signs with a new key', async () => {
    published.keys = [gateway.publicJwk]
    const callers = callersOf({ jwksUri: published.url })
    expect(await problemOf(gateway.token(), callers)).toBe('accepted')
    expect(await problemOf(gateway.token(), callers)).toBe('accepted')
    expect(published.fetches).toBe(1)
    const next = new CallerSigner('k2')
    published.keys = [gateway.publicJwk, next.publicJwk]
    expect(await problemOf(next.token(), callers)).toBe('accepted')
    expect(await problemOf(gateway.token(), callers)).toBe('accepted')
    expect(published.fetches).toBe(2)
  })

  it('that cannot be fetched refuse a token for the moment', async () => {
    await published.close()
    expect(await callersOf({ jwksUri: published.url }).verify(gateway.token())).toMatchObject({
      certainty: 'unverifiable',
    })
  })
})

describe('a token for one call', () => {
  const callerOf = async (callers: GatewayCallers): Promise<ForwardedCaller> =>
    (await callers.verify(gateway.token({ connect: { tool: 'post' } }))) as ForwardedCaller

  it('can be used once, by one of all processes that share the folder, also after a restart', async () => {
    const caller = await callerOf(callersOf())
    const spent = await Promise.all([1, 2, 3, 4].map(() => callersOf().spend(caller)))
    expect(spent.filter(Boolean)).toHaveLength(1)
    expect(await callersOf().spend(caller)).toBe(false)
    expect(await callersOf().spend(await callerOf(callersOf()))).toBe(true)
  })

  it('leaves a mark that is removed once no such token can be valid', async () => {
    const folder = join(dataFolder, 'marks')
    await spendToken(folder, 'old')
    const [mark = ''] = await readdir(folder)
    await utimes(join(folder, mark), 0, Date.now() / 1_000 - 601)
    await spendToken(folder, 'new')
    expect(await readdir(folder)).toHaveLength(1)
    expect(await spendToken(folder, 'new')).toBe(false)
  })
})
