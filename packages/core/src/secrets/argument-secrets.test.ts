import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { createFakeSecrets, type FakeSecret } from '../fake-secrets.test-kit.ts'
import { ALLOW, type JsonObject } from '../index.ts'
import { checkSecrets, findArgumentSecret } from './argument-secrets.ts'

const [{ secret }] = createFakeSecrets() as readonly [FakeSecret]
const escaped = `\\u0067${secret.slice(1)}`

describe('findArgumentSecret', () => {
  it.each([
    ['headers.auth', { headers: { auth: `token ${secret}` } }],
    ['items[1].note', { items: ['a', { note: secret }] }],
    ['a name', { [secret]: 1 }],
    ['a name in env', { env: { [secret]: 1 } }],
    ['body.a[0]', { body: `{"a":["${escaped}"]}` }],
    ['body', { body: `{"a":["${secret}"]}` }],
    ['body', { body: `${'['.repeat(100_000)}"${escaped}"${']'.repeat(100_000)}` }],
    ['body', { body: `{"a":"${escaped}","a":1}` }],
    ['x\\u000ay', { 'x\ny': secret }],
  ])('finds it at %s', (where, args) => {
    expect(findArgumentSecret(args as JsonObject)).toEqual({ kind: 'GitHub token', where })
  })

  it('returns undefined if there is none', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (args) => {
        expect(findArgumentSecret(args as JsonObject)).toBeUndefined()
      }),
    )
  })
})

describe(`${promise('GOV-18')} checkSecrets`, () => {
  it('refuses, and names the kind and the location, but never the secret', () => {
    for (const made of createFakeSecrets()) {
      const verdict = checkSecrets({ a: { b: made.text ?? made.secret } })
      expect(verdict).toMatchObject({ outcome: 'deny', code: 'SECRET_REFUSED' })
      expect(verdict.reason).toContain(`(${made.kind}, at a.b)`)
      expect(JSON.stringify(verdict)).not.toContain(made.secret)
    }
  })

  it('never repeats a secret that is a key', () => {
    expect(JSON.stringify(checkSecrets({ [secret]: { [secret]: secret } }))).not.toContain(secret.slice(4, 20))
  })

  it('returns ALLOW if there is no secret', () => {
    expect(checkSecrets(undefined)).toBe(ALLOW)
    expect(checkSecrets({ path: '/srv/data', depth: 3, password: 'open sesame' })).toBe(ALLOW)
  })
})
