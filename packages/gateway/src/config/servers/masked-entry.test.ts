import { type JsonObject, listSecretForms, maskSecrets } from '@sallyport/core'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { maskEntry, restoreMasked } from './masked-entry.ts'

const SECRETS = ['hunter22-of-ann', 'hunter33-of-bob']
const mask = (text: string): string => maskSecrets(text, listSecretForms(SECRETS))

const ENTRY: JsonObject = {
  command: 'npx',
  args: ['--key', 'hunter22-of-ann', '--other', 'hunter33-of-bob'],
  env: { ONE: 'hunter22-of-ann', TWO: 'hunter33-of-bob', LEVEL: 'info', PORT: 8080 },
  url: 'https://example.com/mcp?key=hunter22-of-ann',
}

it('an entry shows no secret, and what is left masked becomes the secret again', () => {
  const shown = maskEntry(ENTRY, mask)
  for (const secret of SECRETS) expect(JSON.stringify(shown)).not.toContain(secret)
  expect(shown).toMatchObject({ command: 'npx', env: { ONE: '•••', LEVEL: 'info', PORT: 8080 } })
  expect(restoreMasked(shown, ENTRY, mask)).toEqual(ENTRY)
})

it('the others are restored if one is changed, added or removed', () => {
  const env = { TWO: '•••', ONE: 'a new one', LEVEL: 'debug' }
  expect(restoreMasked({ env }, ENTRY, mask)).toEqual({ env: { ...env, TWO: 'hunter33-of-bob' } })
  const args = ['--first', '--key', '•••', '--other', '•••']
  expect(restoreMasked({ args }, ENTRY, mask)).toEqual({ args: ['--first', ...(ENTRY.args as string[])] })
})

it.each([
  [{ env: { THREE: '•••' } }],
  [{ args: ['•••', '•••', '•••'] }],
  [{ url: 'https://other.example/mcp?key=•••' }],
  [{ cwd: '/•••' }],
  [{ headers: { Authorization: 'Bearer •••' } }],
  [{ env: { ONE: '[redacted: GitHub token]' } }],
])('a mask that stands for no known value is refused: %j', (fields) => {
  expect(() => restoreMasked(fields, ENTRY, mask)).toThrow(/is masked/)
})

it('whatever the entry is, showing it and writing it back changes nothing', () => {
  const text = fc.oneof(fc.constantFrom(...SECRETS, 'npx', '--x'), fc.string())
  const entry = fc.dictionary(fc.string(), fc.oneof(text, fc.array(text), fc.dictionary(fc.string(), text)))
  fc.assert(
    fc.property(entry, (one) => {
      const plain = JSON.parse(JSON.stringify(one)) as JsonObject
      fc.pre(!/•••|\[redacted: /.test(JSON.stringify(plain)))
      expect(restoreMasked(maskEntry(plain, mask), plain, mask)).toEqual(plain)
    }),
  )
})
