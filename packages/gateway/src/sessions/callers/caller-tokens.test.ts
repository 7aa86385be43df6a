import type { Principal } from '@sallyport/core'
import { decodeJwt } from 'jose'
import { beforeEach, describe, expect, it } from 'vitest'
import { promise } from '../../../../../tests/promises.ts'
import { CallerTokens, type SessionLabel, TOKEN_LIFETIME_S } from './caller-tokens.ts'

const START = 1_900_000_000_500
const ANN: Principal = { user: 'ann', agent: 'codex', profile: 'reviewer', session: 's1', role: 'agent' }
const BOB: Principal = { ...ANN, user: 'bob' }
const DB = { server: 'db', keyId: 'k1' }

let time: number
let label: SessionLabel
let signed: (string | undefined)[]
let tokens: CallerTokens

beforeEach(() => {
  time = START
  label = { sensitivity: 'PUBLIC', isPrivate: false }
  signed = []
  const sign = (claims: object, keyId: string | undefined): string => {
    signed.push(keyId)
    return `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.c2ln`
  }
  tokens = new CallerTokens({ keys: { sign }, labelOf: () => label, now: () => time })
})

describe(`${promise('SEN-19')} a caller token`, () => {
  it('says who calls, for which server, and for at most a minute', () => {
    const { iat, exp, jti, ...claims } = decodeJwt(tokens.find(ANN).tokenFor(DB))
    expect(claims).toEqual({
      ...{ iss: 'sallyport', aud: 'db', sub: 'ann', session: 's1', agent: 'codex', profile: 'reviewer' },
      ...{ permissions: ['READ', 'WRITE', 'CONNECT'], label: 'PUBLIC', private: false, shapes: true },
    })
    expect([iat, (exp ?? 0) - (iat ?? 0)]).toEqual([Math.floor(START / 1_000), TOKEN_LIFETIME_S])
    expect(TOKEN_LIFETIME_S).toBeLessThanOrEqual(60)
    expect(jti).toMatch(/^[\da-f-]{36}$/)
    expect(signed).toEqual(['k1'])
  })

  it('is signed once for many requests, and anew long before it expires', () => {
    const first = tokens.find(ANN).tokenFor(DB)
    for (let at = 0; at < 40_000; at += 1_000) {
      time = START + at
      expect(tokens.find(ANN).tokenFor(DB)).toBe(first)
    }
    time = START + 40_000
    expect(tokens.find(ANN).tokenFor(DB)).not.toBe(first)
    expect(signed).toHaveLength(2)
  })

  it('is another one for each caller and each connection', () => {
    const other = { server: 'files', keyId: undefined }
    const all = [ANN, BOB].flatMap((caller) => [DB, other].map((audience) => tokens.find(caller).tokenFor(audience)))
    expect(all.map((token) => [decodeJwt(token).sub, decodeJwt(token).aud])).toEqual([
      ['ann', 'db'],
      ['ann', 'files'],
      ['bob', 'db'],
      ['bob', 'files'],
    ])
    expect(signed).toEqual(['k1', undefined, 'k1', undefined])
  })

  it('has the label of the session at once when that is raised', () => {
    const before = tokens.find(ANN).tokenFor(DB)
    label = { sensitivity: 'CONFIDENTIAL', isPrivate: true }
    const after = decodeJwt(tokens.find(ANN).tokenFor(DB))
    expect([after.label, after.private]).toEqual(['CONFIDENTIAL', true])
    expect(decodeJwt(before).label).toBe('PUBLIC')
    label = { sensitivity: 'CONFIDENTIAL', isPrivate: false }
    expect(decodeJwt(tokens.find(ANN).tokenFor(DB)).private).toBe(false)
  })

  it('of a call that a person let connect names its tool, and is not used for another call', () => {
    const usual = tokens.find(ANN).tokenFor(DB)
    const [one, other] = [1, 2].map(() => decodeJwt(tokens.findForConnect(ANN, 'send').tokenFor(DB)))
    expect(one?.connect).toEqual({ tool: 'send' })
    expect(one?.jti).not.toBe(other?.jti)
    expect(tokens.find(ANN).tokenFor(DB)).toBe(usual)
    expect(decodeJwt(usual).connect).toBeUndefined()
  })

  it('is not used longer by a clock that was set back', () => {
    const first = tokens.find(ANN).tokenFor(DB)
    time = START - 1_000
    expect(tokens.find(ANN).tokenFor(DB)).not.toBe(first)
  })
})
