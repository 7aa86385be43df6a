import { describe, expect, it } from 'vitest'
import { createRandomText } from '../fake-secrets.test-kit.ts'
import { isPlaceholder, looksRandom } from './looks-random.ts'

const some = createRandomText(7)
const share = (alphabet: string, length: number): number => {
  const samples = Array.from({ length: 500 }, () => some(alphabet, length))
  return samples.filter(looksRandom).length / samples.length
}

describe('looksRandom', () => {
  it('recognizes nearly all random texts', () => {
    const letters = 'abcdefghijklmnopqrstuvwxyz'
    expect(share('0123456789abcdef', 32)).toBeGreaterThan(0.99)
    expect(share(`${letters}${letters.toUpperCase()}0123456789`, 40)).toBeGreaterThan(0.99)
    expect(share(`${letters}${letters.toUpperCase()}0123456789`, 16)).toBeGreaterThan(0.9)
  })

  it.each([
    'correct-horse-battery-staple',
    'process.env.DATABASE_PASSWORD_2',
    'this.options.credentials.secret',
    'getPasswordFromKeychain',
    '/run/secrets/db_password_v2',
    '2024-01-15T10:20:30.123Z',
    'arn:aws:secretsmanager:eu-west-1',
    'MyCompanyProduction2024',
    '****************',
    'aaaaaaaaaaaaaaaaaaaaaaaa',
  ])('does not treat %s as random', (text) => {
    expect(looksRandom(text)).toBe(false)
  })
})

describe('isPlaceholder', () => {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: this is how configurations name a variable.
  it.each(['<token>', '${TOKEN}', '$TOKEN', '{{ token }}', 'xxxxxxxx', 'your_key_here', 'sk-...', 'KEYEXAMPLE'])(
    'recognizes %s',
    (text) => {
      expect(isPlaceholder(text)).toBe(true)
    },
  )
})
