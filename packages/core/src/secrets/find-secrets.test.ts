import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createFakeSecrets, createRandomText } from '../fake-secrets.test-kit.ts'
import { findSecrets, redactText } from './find-secrets.ts'

const anySecret = fc.integer({ min: 1, max: 1_000_000 }).chain((seed) => fc.constantFrom(...createFakeSecrets(seed)))

describe('findSecrets', () => {
  it.each(createFakeSecrets())('finds a $kind and nothing around it', ({ kind, secret, text = secret }) => {
    const start = text.indexOf(secret)
    expect(findSecrets(text)).toEqual([{ kind, start, end: start + secret.length }])
    expect(redactText(text)).toBe(text.replace(secret, `[redacted: ${kind}]`))
  })

  it('finds a secret of any kind at any position', () => {
    // No word before it, and nothing after it that could belong to it.
    const before = fc.string().map((text) => (/[A-Za-z0-9\\%]$/.test(text) ? `${text} ` : text))
    fc.assert(
      fc.property(before, anySecret, fc.string(), (head, { secret, text = secret }, tail) => {
        const whole = `${head}${text}\n\n"${tail}`
        const place = whole.indexOf(secret)
        const found = findSecrets(whole).find(({ start, end }) => start <= place && end >= place + secret.length)
        expect(found, whole).toBeDefined()
        expect(redactText(whole)).not.toContain(secret)
      }),
      { numRuns: 500 },
    )
  })

  it.each(['"', "'", '=', ':', ' ', '\n', '\t', '/', '(', '`', '>', ',', '+', '-', '_', 'é', '\u001b[31m'])(
    'knows that a word may begin behind %j',
    (sign) => {
      for (const { secret, text } of createFakeSecrets())
        if (text === undefined) expect(redactText(sign + secret)).not.toContain(secret)
    },
  )

  it.each(['\\n', '\\t', '\\u000a', '\\x0a', '%20', '%3D'])('does not treat %s as a letter', (written) => {
    for (const { secret, text } of createFakeSecrets())
      if (text === undefined) expect(redactText(`line${written}${secret}`)).not.toContain(secret)
  })

  it('ignores a token inside a longer word', () => {
    const [github] = createFakeSecrets()
    expect(findSecrets(`x${github?.secret}`)).toEqual([])
  })

  it('names a secret by its own shape rather than by the text before it', () => {
    const [github] = createFakeSecrets()
    expect(redactText(`Authorization: Bearer ${github?.secret}`)).toBe('Authorization: Bearer [redacted: GitHub token]')
    expect(redactText(`token_password=${github?.secret};`)).toBe('token_password=[redacted: GitHub token];')
  })

  it('finds several, also where they touch', () => {
    const [github, ...others] = createFakeSecrets()
    const slack = others.find(({ kind }) => kind === 'Slack token')
    expect(redactText(`${github?.secret},${slack?.secret}.`)).toBe('[redacted: GitHub token],[redacted: Slack token].')
  })

  it('finds the secret after its AWS key', () => {
    const aws = createFakeSecrets().find(({ kind }) => kind === 'AWS key')?.secret
    const secret = createRandomText(9)('abcdefghij0123456789ABCDEFGHIJ+/', 40)
    expect(redactText(`${aws},${secret}\n`)).toBe('[redacted: AWS key]\n')
  })

  it.each([
    ['on lines of their own', '\n'],
    ['with escaped line ends', '\\n'],
    ['with line ends that are escaped twice', '\\\\n'],
    ['with Windows line ends', '\r\n'],
    ['on one line', ' '],
  ])('finds a private key %s', (_how, lineEnd) => {
    const pem = createFakeSecrets()
      .find(({ kind }) => kind === 'private key')
      ?.secret.replaceAll('\n', lineEnd)
    expect(redactText(`key: "${pem}"!`)).toBe('key: "[redacted: private key]"!')
  })

  it('finds the beginning of a truncated private key, and one with headers', () => {
    const pem = createFakeSecrets().find(({ kind }) => kind === 'private key')?.secret ?? ''
    expect(redactText(pem.slice(0, 200))).toBe('[redacted: private key]')
    const rsa = pem.replaceAll('PRIVATE', 'RSA PRIVATE')
    expect(redactText(rsa)).toBe('[redacted: private key]')
    expect(redactText(rsa.replace('\n', '\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00FF\n\n'))).toBe(
      '[redacted: private key]',
    )
  })

  it('finds a token that is truncated in its second part', () => {
    const jwt = createFakeSecrets().find(({ kind }) => kind === 'JWT')?.secret ?? ''
    expect(redactText(jwt.slice(0, jwt.lastIndexOf('.') - 9))).toBe('[redacted: JWT]')
  })

  it('finds a secret of any length', () => {
    const text = `xoxb-${'1a-'.repeat(7_000_000)}`
    expect(findSecrets(`${text} and so on`)).toEqual([{ kind: 'Slack token', start: 0, end: text.length }])
    expect(findSecrets(text)).toEqual([{ kind: 'Slack token', start: 0, end: text.length }])
  })

  it('stays fast on hostile text', () => {
    const starts = ['eyJ-', 'eyJaaaaaaaaaa.', 'password=', 'secret:', '://a:b', '://a:', 'xoxb-', 'sk-ant-', 'bearer x']
    const pem = `-----BEGIN ${'PRIVATE KEY-----'}`
    for (const start of [
      ...starts,
      pem,
      `${pem}\na: b`,
      `${pem}${'\\'.repeat(500)}`,
      '%3Dghp_',
      'authorization: basic ',
    ])
      expect(findSecrets(start.repeat(300_000 / start.length)).length).toBeGreaterThanOrEqual(0)
  })
})

describe('a real secret that looks like a sample', () => {
  const some = createRandomText(11)
  const random = (length: number): string =>
    some('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789', length)

  it.each([
    ['an AWS key that ends in EXAMPLE', `${'AK'}IAQYLPMN5HFEXAMPLE`],
    [
      'an AWS key next to the secret of a sample',
      `${'AK'}IAQYLPMN5HFIQR7XYA wJalrXUtnFEMI/K7MDENG/bPxRfiCY${'EXAMPLEKEY'}`,
    ],
    ['a secret next to the key of a sample', `${'AK'}IAIOSFODNN7EXAMPLE,${random(40)}`],
    ['a GitHub token with a word after it', `${'gh'}p_${random(36)}_example_file`],
    ['an Anthropic key with a word after it', `${'sk-'}ant-api03-${random(60)}-dummy`],
    ['a Slack token with a row of x after it', `${'xo'}xb-1234567890-${random(24)}-xxxxxx`],
  ])('is found: %s', (_what, text) => {
    expect(redactText(text)).toMatch(/^\[redacted: [\w ]+\]$/)
  })
})

describe('text that is not a secret', () => {
  it.each([
    'sk-...',
    `sk-${'x'.repeat(40)}`,
    `${'gh'}p_${'x'.repeat(36)}`,
    `${'gh'}p_your_token_goes_here_and_nowhere_else`,
    `${'AK'}IAIOSFODNN7EXAMPLE`,
    `${'AS'}IAIOSFODNN7EXAMPLE and ${'AK'}IAI44QH8DHBEXAMPLE`,
    `${'AK'}IAIOSFODNN7EXAMPLE","wJalrXUtnFEMI/K7MDENG/bPxRfiCY${'EXAMPLEKEY'}`,
    `${'AK'}IA${'X'.repeat(16)}`,
    'GITHUB_TOKEN=<token>',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: this is how configurations name a variable.
    'password: ${DB_PASSWORD}',
    'api_key = process.env.OPENAI_API_KEY_2',
    'password = "correct-horse-battery-staple"',
    'const secret = deriveKeyFromV2Store(salt1)',
    'secretName: my-app-v2-database-secret',
    'https://user:password@example.com',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: as above.
    'postgres://app:${PGPASSWORD}@db/app',
    'http://localhost:4747/mcp and a@b.c',
    'git@github.com:acme/tools.git',
    'Authorization: Bearer <your token>',
    'the bearer of this-letter-is-my-old-friend',
    'task-runner-with-a-very-long-name-2024 disk-ab12cd34ef56',
    'nextPageToken: CAUQAA2b3c4d5e6f7a8b9c0d',
    '3f2504e0-4f89-11d3-9a0c-0305e82c3301',
    '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    'sha512-z8Dq3Yv0Oyk7Q0dLzM8u7g1kTn4HP2sQ+/AKIAx0Z9lqk1Rr4E9w==',
    'eyJhbGciOiJIUzI1NiJ9',
    `-----BEGIN ${'PRIVATE KEY-----'}\n...\n-----END ${'PRIVATE KEY-----'}`,
    `-----BEGIN ${'CERTIFICATE-----'}\n${'MIIB'.repeat(16)}`,
  ])('is left unchanged: %j', (text) => {
    expect(redactText(text)).toBe(text)
  })

  it('is left unchanged: base64 of any kind', () => {
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
    for (const signs of ['+/', '-_']) expect(findSecrets(createRandomText(3)(alphabet + signs, 500_000))).toEqual([])
  })

  it('is left unchanged: a shape that occurs in base64', () => {
    const blob = createRandomText(5)('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/', 80)
    const aws = createFakeSecrets().find(({ kind }) => kind === 'AWS key')?.secret
    expect(findSecrets(`${blob}/${aws}/${blob}`)).toEqual([])
    expect(findSecrets(`https://host/path/${aws}/x`)).toHaveLength(1)
  })
})
