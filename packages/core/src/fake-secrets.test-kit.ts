/** Secrets that are generated at run time: a repository must not contain literals that look like secrets. */
export interface FakeSecret {
  readonly kind: string
  readonly secret: string
  /** A text that contains the secret; if missing, the secret alone. */
  readonly text?: string
}

const LETTERS = 'abcdefghijklmnopqrstuvwxyz'
const CAPITALS = LETTERS.toUpperCase()
const DIGITS = '0123456789'
const ALNUM = CAPITALS + LETTERS + DIGITS
const HEX = '0123456789abcdef'

/** Returns the same secrets for the same seed. */
export function createFakeSecrets(seed = 1): readonly FakeSecret[] {
  const some = createRandomText(seed)
  const made = (kind: string, prefix: readonly string[], body: string): FakeSecret => ({
    kind,
    secret: prefix.join('') + body,
  })
  return [
    ...['p', 'o', 'u', 's', 'r'].map((letter) => made('GitHub token', ['gh', letter, '_'], some(ALNUM, 36))),
    made('GitHub token', ['github', '_pat_'], `${some(ALNUM, 22)}_${some(ALNUM, 59)}`),
    made('GitLab token', ['gl', 'pat-'], some(`${ALNUM}-_`, 20)),
    ...['b', 'p', 'a', 'r', 's', 'e'].map((letter) =>
      made('Slack token', ['xo', 'x', letter, '-'], `${some(DIGITS, 12)}-${some(ALNUM, 24)}`),
    ),
    made('Slack token', ['xa', 'pp-'], `1-A${some(ALNUM, 10)}-${some(DIGITS, 13)}-${some(HEX, 40)}`),
    made('Anthropic key', ['sk', '-ant-'], `api03-${some(`${ALNUM}-_`, 90)}AA`),
    made('OpenAI key', ['sk', '-proj-'], some(`${ALNUM}-_`, 60)),
    made('OpenAI key', ['sk', '-'], `7${some(ALNUM, 46)}z`),
    made('Google API key', ['AI', 'za'], some(`${ALNUM}-_`, 35)),
    made('AWS key', ['AK', 'IA'], some(CAPITALS + DIGITS, 16)),
    made('Stripe key', ['sk', '_live_'], some(ALNUM, 24)),
    made('Stripe key', ['rk', '_live_'], some(ALNUM, 24)),
    made('Stripe key', ['wh', 'sec_'], some(ALNUM, 32)),
    made('Twilio key', ['S', 'K'], some(HEX, 32)),
    made('SendGrid key', ['S', 'G.'], `${some(`${ALNUM}-_`, 22)}.${some(`${ALNUM}-_`, 43)}`),
    made('npm token', ['np', 'm_'], some(ALNUM, 36)),
    made('PyPI token', ['py', 'pi-'], `AgEIcHlwaS5vcmc${some(`${ALNUM}-_`, 140)}`),
    made('Hugging Face token', ['h', 'f_'], some(ALNUM, 34)),
    made('DigitalOcean token', ['do', 'p_v1_'], some(HEX, 64)),
    made('Databricks token', ['da', 'pi'], some(HEX, 32)),
    made('Sallyport token', ['sp', 'a_'], some(`${ALNUM}-_`, 43)),
    made('Sallyport token', ['sp', 'o_'], some(`${ALNUM}-_`, 43)),
    made('JWT', ['ey', 'J'], `hbGciOiJI${some(ALNUM, 20)}.eyJ${some(ALNUM, 60)}.${some(`${ALNUM}-_`, 43)}`),
    made('private key', ['-----BEGIN ', 'PRIVATE KEY-----'], pemBody(some)),
    ...contextual(some),
  ]
}

function contextual(some: RandomText): readonly FakeSecret[] {
  const inContext = (kind: string, secret: string, [before, after = '']: readonly [string, string?]): FakeSecret => ({
    kind,
    secret,
    text: before + secret + after,
  })
  return [
    inContext('Azure key', `${some(ALNUM, 43)}/${some(ALNUM, 42)}==`, [
      'AccountName=acme;Account' + 'Key=',
      ';Suffix=x',
    ]),
    inContext('password in a URL', some(ALNUM, 14), ['postgres://app:', '@db.internal:5432/app']),
    inContext('bearer token', mixed(some, 40), ['Authorization: Bear' + 'er ']),
    inContext('login in a header', some(ALNUM, 20), ['authorization: Bas' + 'ic ']),
    inContext('secret under its name', mixed(some, 40), ['aws_secret_access' + '_key = ']),
    inContext('secret under its name', mixed(some, 24), ['{"api' + 'Key": "', '"}']),
    inContext('secret under its name', mixed(some, 24), ['export DB_PASS' + 'WORD=', '\n']),
  ]
}

/** Random text that never looks like a word. */
const mixed = (some: RandomText, length: number): string =>
  Array.from({ length: length / 2 }, () => some(LETTERS, 1) + some(DIGITS, 1)).join('')

function pemBody(some: RandomText): string {
  const lines = Array.from({ length: 5 }, () => some(`${ALNUM}+/`, 64))
  return `\n${lines.join('\n')}\n${some(ALNUM, 22)}==\n-----END ${'PRIVATE KEY-----'}`
}

type RandomText = (alphabet: string, length: number) => string

/** A Lehmer random number generator. */
export function createRandomText(seed: number): RandomText {
  let state = (seed * 48_271 + 11) % 0x7fffffff
  const next = (): number => {
    state = (state * 48_271) % 0x7fffffff
    return state
  }
  return (alphabet, length) => Array.from({ length }, () => alphabet[next() % alphabet.length]).join('')
}
