import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createFakeSecrets } from '../fake-secrets.test-kit.ts'
import { listSecretForms, maskSecrets } from './mask-secrets.ts'

const mask = (text: string, ...values: string[]): string => maskSecrets(text, listSecretForms(values))

describe('maskSecrets', () => {
  it('hides every occurrence, and nothing else', () => {
    expect(mask('key hunter22, again hunter22!', 'hunter22')).toBe('key •••, again •••!')
    expect(mask('nothing of the kind', 'hunter22')).toBe('nothing of the kind')
    expect(mask('as it is')).toBe('as it is')
  })

  it('hides the longer of two secrets first, so that no part of it remains', () => {
    expect(mask('password-and-more', 'password', 'password-and-more')).toBe('•••')
  })

  it('hides secrets that overlap as one', () => {
    expect(mask('one-two-three!', 'one-two', 'two-three')).toBe('•••!')
    expect(mask('abcdef-xyzw', 'abcdef-xyzw', 'xyzw1234')).toBe('•••')
    expect(mask('hunter22hunter22', 'hunter22')).toBe('••••••')
    expect(mask('key hunter22-hun', 'hunter22', 'hunter22-hunter22')).toBe('key •••')
  })

  it('treats a secret as text, never as a pattern', () => {
    expect(mask('a.*b$& axxb$&', 'a.*b$&')).toBe('••• axxb$&')
  })

  it('leaves short values unchanged, because they occur in ordinary words', () => {
    expect(mask('true is 8080', 'true', '8080', '')).toBe('true is 8080')
  })

  it('hides the secret of a header without its scheme, and leaves the scheme unchanged elsewhere', () => {
    expect(mask('got abcdef123, a bearer of news, Bearer of', 'Bearer abcdef123')).toBe(
      'got •••, a bearer of news, Bearer of',
    )
    expect(mask('got Bearer abcdef123', 'Bearer abcdef123\n')).toBe('got •••')
  })

  it('hides each line of a secret with several lines, since a log shows them one by one', () => {
    expect(mask('read: MIIEvQIBADAN', '-----BEGIN KEY-----\nMIIEvQIBADAN\n-----END KEY-----\n')).toBe('read: •••')
  })

  it('hides the URL encoding of a secret', () => {
    expect(mask('GET /?key=p%40ss%2Fword', 'p@ss/word')).toBe('GET /?key=•••')
  })

  it('hides the beginning of a secret that is truncated at the end of the text', () => {
    expect(mask('key hunte', 'hunter22')).toBe('key •••')
    expect(mask('hunter22 hunter2', 'hunter22')).toBe('••• •••')
    expect(mask('key hun', 'hunter22')).toBe('key hun')
  })

  it('hides what has the shape of a secret, even if it was not given', () => {
    const [github] = createFakeSecrets()
    expect(mask(`hunter22: bad key ${github?.secret}`, 'hunter22')).toBe('•••: bad key [redacted: GitHub token]')
  })

  it('hides the same with hundreds of secrets', () => {
    const word = fc.stringMatching(/^[ab]{0,3}[a-c]{1,9}$/)
    const others = Array.from({ length: 300 }, (_, n) => `other-${n}-secret`)
    fc.assert(
      fc.property(fc.array(word, { maxLength: 5 }), fc.stringMatching(/^[abc -]{0,60}$/), (secrets, text) => {
        const few = maskSecrets(`x ${text}`, secrets)
        expect(maskSecrets(`x ${text}`, [...others, ...secrets])).toBe(few)
        expect(maskSecrets(`x ${text}`, [...secrets, ...others])).toBe(few)
      }),
    )
    expect(maskSecrets('a other-7-secret, other-299-secretother-1-secre', others)).toBe('a •••, ••••••')
    expect(maskSecrets('secret, ret', others)).toBe('secret, ret')
  })

  it('survives a value that is not well-formed', () => {
    expect(mask('x \ud800abcdef', '\ud800abcdef')).toBe('x •••')
  })
})
