import { createHmac, createPublicKey, generateKeyPairSync, type KeyObject, sign as signBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { type JwtOptions, readJwtOptions } from './jwt-options.ts'
import { createJwtVerifier } from './jwt-verifier.ts'
import { NOW, problemOf, START } from './key-server.test-kit.ts'

const SECRET = 'a shared secret that is long enough for each of the three hashes.'
const ISSUER = 'https://issuer.example'
const CLAIMS = { iss: ISSUER, aud: 'records', sub: 'ada', exp: NOW + 60 }

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const p256 = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' })
const p521 = generateKeyPairSync('ec', { namedCurve: 'P-521' })
const edwards = generateKeyPairSync('ed25519')

const PAIRS = { RS: rsa, PS: rsa, ES256: p256, ES384: p384, ES512: p521, Ed: edwards }
const ALGORITHMS = ['HS256', 'HS384', 'HS512', 'RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512']
const ALL = [...ALGORITHMS, 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519']

const pairOf = (alg: string) => PAIRS[(alg.startsWith('ES') ? alg : alg.slice(0, 2)) as keyof typeof PAIRS]
const hashOf = (alg: string) => `sha${alg.slice(2)}`
const pemOf = (key: KeyObject) => key.export({ type: 'spki', format: 'pem' }) as string

/** Signs with node:crypto only: a verifier must not be tested with its own signatures. */
function signature(alg: string, data: Buffer): Buffer {
  if (alg.startsWith('HS')) return createHmac(hashOf(alg), SECRET).update(data).digest()
  const { privateKey: key } = pairOf(alg)
  if (alg.startsWith('Ed')) return signBytes(null, data, key)
  if (alg.startsWith('ES')) return signBytes(hashOf(alg), data, { key, dsaEncoding: 'ieee-p1363' })
  const pss = { padding: 6, saltLength: Number(alg.slice(2)) / 8 }
  return signBytes(hashOf(alg), data, alg.startsWith('PS') ? { key, ...pss } : { key })
}

const encode = (part: unknown) =>
  Buffer.from(typeof part === 'string' ? part : JSON.stringify(part)).toString('base64url')

/** A token of exactly these parts; strings are used unchanged. */
function token(alg: string, header: object | string, claims: object | string): string {
  const signed = `${encode(header)}.${encode(claims)}`
  return `${signed}.${signature(alg, Buffer.from(signed)).toString('base64url')}`
}

const good = (alg: string) => token(alg, { alg, typ: 'JWT' }, CLAIMS)

const keyOf = (alg: string): JwtOptions =>
  alg.startsWith('HS') ? { secret: SECRET } : { publicKey: pemOf(pairOf(alg).publicKey) }

const verifierOf = (options: JwtOptions) =>
  createJwtVerifier(readJwtOptions({ issuers: [ISSUER], audience: 'records', ...options }), { now: () => START })

const outcome = async (options: JwtOptions, text: string) => problemOf(await verifierOf(options).verify(text))

describe(`${promise('KIT-1')} exactly the valid tokens pass`, () => {
  it.each(ALL)('one signed with %s passes only if that algorithm is listed', async (alg) => {
    expect(await outcome({ ...keyOf(alg), algorithms: [alg] }, good(alg))).toBe('accepted')
    const others = ALL.filter((other) => !(alg.startsWith('Ed') && other.startsWith('Ed')) && other !== alg)
    for (const other of others) {
      const verdict = await outcome({ ...keyOf(other), algorithms: [other] }, good(alg))
      expect(`${other}: ${verdict}`).toBe(`${other}: The token is signed with an algorithm not accepted here`)
    }
  })

  it.each(ALL)('one that only claims the algorithm %s does not pass', async (alg) => {
    const options = { ...keyOf(alg), algorithms: [alg] }
    for (const other of ALL.filter((name) => !(alg.startsWith('Ed') && name.startsWith('Ed')) && name !== alg))
      expect(await outcome(options, token(other, { alg }, CLAIMS))).not.toBe('accepted')
  })

  it.each([
    ['is of a public key used as a secret', (pem: string) => pem],
    ['is of its trimmed text', (pem: string) => pem.trim()],
    ['is of its bytes', (pem: string) => createPublicKey(pem).export({ type: 'spki', format: 'der' })],
  ])('one whose signature %s does not pass', async (_, secretOf) => {
    const signed = `${encode({ alg: 'HS256' })}.${encode(CLAIMS)}`
    const mac = createHmac('sha256', secretOf(pemOf(rsa.publicKey)))
      .update(signed)
      .digest('base64url')
    for (const algorithms of [['RS256'], ['RS256', 'PS256'], undefined])
      expect(await outcome({ publicKey: pemOf(rsa.publicKey), algorithms }, `${signed}.${mac}`)).toContain('algorithm')
  })

  const HEADERS: readonly [string, string | object][] = [
    ['alg none', { alg: 'none' }],
    ['alg in another case', { alg: 'hs256' }],
    ['a list of algorithms', { alg: ['HS256'] }],
    ['no alg', {}],
    ['two algs', '{"alg":"none","alg":"HS256"}'],
    ['two algs, one of them escaped', '{"\\u0061lg":"RS256","alg":"HS256"}'],
    ['an unknown crit', { alg: 'HS256', crit: ['x'], x: 1 }],
    ['an empty crit', { alg: 'HS256', crit: [] }],
    ['a crit of its own alg', { alg: 'HS256', crit: ['alg'] }],
    ['an unencoded payload', { alg: 'HS256', crit: ['b64'], b64: false }],
    ['a list of key ids', { alg: 'HS256', kid: ['k1'] }],
    ['a number as key id', { alg: 'HS256', kid: 0 }],
    ['null as key id', { alg: 'HS256', kid: null }],
    ['an object as key id', { alg: 'HS256', kid: { toString: 'k1' } }],
    ['another purpose', { alg: 'HS256', typ: 'logout+jwt' }],
    ['a number as type', { alg: 'HS256', typ: 1 }],
    ['a list', '["HS256"]'],
    ['a text', '"HS256"'],
    ['broken JSON', '{"alg":"HS256"'],
    ['JSON and more', '{"alg":"HS256"}}'],
    ['compression', { alg: 'HS256', zip: 'DEF', crit: ['zip'] }],
  ]

  it.each(HEADERS)('one whose header has %s does not pass, though its signature is right', async (_, header) => {
    const found = await verifierOf({ secret: SECRET, algorithms: ['HS256'] }).verify(token('HS256', header, CLAIMS))
    expect(found).toHaveProperty('certainty')
    expect(problemOf(found)).toMatch(/^[\w ',-]+$/)
  })

  const PAYLOADS: readonly [string, string | object][] = [
    ['has expired', { ...CLAIMS, exp: NOW - 5 }],
    ['expired long ago', { ...CLAIMS, exp: 0 }],
    ['expires before 1970', { ...CLAIMS, exp: -1 }],
    ['never expires, by 1e400', `{"iss":"${ISSUER}","aud":"records","exp":1e400,"sub":"ada"}`],
    ['expires after the year 9999', { ...CLAIMS, exp: 1e300 }],
    ['is valid since before 1970', `{"iss":"${ISSUER}","aud":"records","exp":${NOW + 60},"nbf":-1e400,"sub":"ada"}`],
    ['was made after the year 9999', `{"iss":"${ISSUER}","aud":"records","exp":${NOW + 60},"iat":1e400,"sub":"ada"}`],
    ['was made before 1970', { ...CLAIMS, iat: -1 }],
    ['has a string as exp', { ...CLAIMS, exp: String(NOW + 60) }],
    ['never expires', { ...CLAIMS, exp: undefined }],
    ['expires at null', { ...CLAIMS, exp: null }],
    ['is not valid yet', { ...CLAIMS, nbf: NOW + 6 }],
    ['has a string as nbf', { ...CLAIMS, nbf: '0' }],
    ['has a string as iat', { ...CLAIMS, iat: 'now' }],
    ['has another issuer', { ...CLAIMS, iss: 'https://issuer.example.evil' }],
    ['has an issuer with a slash', { ...CLAIMS, iss: `${ISSUER}/` }],
    ['has an issuer in capitals', { ...CLAIMS, iss: ISSUER.toUpperCase() }],
    ['has a list of issuers', { ...CLAIMS, iss: [ISSUER] }],
    ['has no issuer', { ...CLAIMS, iss: undefined }],
    ['is for another audience', { ...CLAIMS, aud: 'other' }],
    ['is for a prefix of our name', { ...CLAIMS, aud: 'record' }],
    ['is for nobody', { ...CLAIMS, aud: [] }],
    ['is for a nested list', { ...CLAIMS, aud: [['records']] }],
    ['names no audience', { ...CLAIMS, aud: undefined }],
    ['names no user', { ...CLAIMS, sub: undefined }],
    ['names two users', `{"iss":"${ISSUER}","aud":"records","exp":${NOW + 60},"sub":"root","sub":"ada"}`],
    ['names two users, one escaped', `{"iss":"${ISSUER}","aud":"records","exp":${NOW + 60},"sub":"a","s\\u0075b":"b"}`],
    [
      'has a duplicate member in a nested object',
      `{"iss":"${ISSUER}","aud":"records","exp":${NOW + 60},"sub":"ada","act":[{"a":1,"a":2}]}`,
    ],
    ['has exp twice', `{"iss":"${ISSUER}","aud":"records","exp":${NOW - 60},"sub":"ada","exp":${NOW + 60}}`],
    ['is a list', '[]'],
    ['is a string', '"sub"'],
    ['is null', 'null'],
    ['is not JSON', 'sub=ada'],
  ]

  it.each(PAYLOADS)('one that %s does not pass, though its signature is right', async (_, claims) => {
    const made = token('HS256', { alg: 'HS256' }, claims)
    const found = await verifierOf({ secret: SECRET, algorithms: ['HS256'] }).verify(made)
    expect(found).toHaveProperty('certainty')
    expect(problemOf(found)).toMatch(/^[\w ',-]+$/)
  })

  it('those younger than maxAge pass, and no others', async () => {
    const options = { secret: SECRET, algorithms: ['HS256'], maxAge: '1m' }
    const made = (iat: unknown) => token('HS256', { alg: 'HS256' }, { ...CLAIMS, exp: NOW + 86_400, iat })
    for (const iat of [NOW, NOW - 64, NOW + 5]) expect(await outcome(options, made(iat))).toBe('accepted')
    for (const iat of [undefined, NOW - 66, NOW + 6, '0', null, 0])
      expect(await outcome(options, made(iat))).not.toBe('accepted')
    expect(await verifierOf(options).verify(made(NOW - 10))).toMatchObject({ expiresAt: START + 55_000 })
  })

  it('names that only look like duplicates are allowed', async () => {
    const claims = { ...CLAIMS, act: { sub: 'ada', list: ['sub', { sub: 1 }] }, note: '"sub":"sub","exp"', a: 'sub' }
    expect(await outcome({ secret: SECRET }, token('HS256', { alg: 'HS256' }, claims))).toBe('accepted')
  })

  it('invalid UTF-8 is not accepted as a user', async () => {
    const json = Buffer.from(JSON.stringify({ ...CLAIMS, sub: 'ada?' }))
    json[json.indexOf('?')] = 0xff
    const signed = `${encode({ alg: 'HS256' })}.${json.toString('base64url')}`
    const made = `${signed}.${signature('HS256', Buffer.from(signed)).toString('base64url')}`
    expect(await outcome({ secret: SECRET }, made)).not.toBe('accepted')
  })

  it('no changed version of a valid token passes', async () => {
    const verifier = verifierOf({ secret: SECRET, algorithms: ['HS256'] })
    const [header = '', claims = '', mac = ''] = good('HS256').split('.')
    const whole = `${header}.${claims}.${mac}`
    const edit = fc.tuple(fc.nat(whole.length), fc.nat(3), fc.string({ minLength: 0, maxLength: 4 }))
    await fc.assert(
      fc.asyncProperty(edit, async ([at, removed, inserted]) => {
        const edited = whole.slice(0, at) + inserted + whole.slice(at + removed)
        const bytes = (text: string) => Buffer.from(text.split('.')[2] ?? '', 'base64url').toString('hex')
        const same =
          edited.startsWith(`${header}.${claims}.`) && /^[\w-]+$/.test(edited.slice(header.length + claims.length + 2))
        // The last character of an encoding has bits that no reader uses.
        const isTwin = same && bytes(edited) === bytes(whole)
        expect(problemOf(await verifier.verify(edited)) === 'accepted').toBe(isTwin)
      }),
      { numRuns: 500 },
    )
  })

  it('exactly those with valid claims pass, in any combination', async () => {
    const verifier = verifierOf({ secret: SECRET, algorithms: ['HS256'] })
    const claims = fc.record(
      {
        iss: fc.constantFrom<unknown>(ISSUER, 'https://other.example', 7, null),
        aud: fc.constantFrom<unknown>('records', ['records'], ['x', 'records'], 'x', [], null),
        sub: fc.constantFrom<unknown>('ada'),
        exp: fc.constantFrom<unknown>(NOW + 1, NOW - 4, NOW - 5, NOW - 6, '9', null),
        nbf: fc.constantFrom<unknown>(NOW, NOW + 5, NOW + 6, '0'),
      },
      { requiredKeys: [] },
    )
    const isRight = ({ iss, aud, sub, exp, nbf }: Record<string, unknown>): boolean =>
      iss === ISSUER &&
      (aud === 'records' || (Array.isArray(aud) && aud.includes('records'))) &&
      sub === 'ada' &&
      typeof exp === 'number' &&
      exp > NOW - 5 &&
      (nbf === undefined || (typeof nbf === 'number' && nbf <= NOW + 5))
    await fc.assert(
      fc.asyncProperty(claims, async (made) => {
        const found = await verifier.verify(token('HS256', { alg: 'HS256' }, made))
        expect(problemOf(found) === 'accepted').toBe(isRight(made))
      }),
      { numRuns: 500 },
    )
  })
})
