import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createFakeSecrets } from '../fake-secrets.test-kit.ts'
import { type Json, type JsonObject, listSecretForms } from '../index.ts'
import { type ArgumentDetail, toRecordedArguments } from './recorded-arguments.ts'

const HIDDEN = '[redacted: by its name]'
const ALL_HIDDEN = '[redacted: by its name, with all that is in it]'
const redacted = (args: JsonObject, secrets: readonly string[] = []): Json | undefined =>
  toRecordedArguments(args, 'redacted', { secrets })

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))

describe('toRecordedArguments', () => {
  it('records nothing with `none`', () => {
    expect(toRecordedArguments({ a: 1 }, 'none')).toBeUndefined()
  })

  it.each(createFakeSecrets())('records no $kind at any level of detail', ({ secret, text = secret }) => {
    const kept = JSON.stringify(toRecordedArguments({ note: `take ${text}` }, 'full'))
    expect(kept).not.toContain(JSON.stringify(secret).slice(1, -1))
  })

  it('records everything with `full`, and says what was left out', () => {
    const args = { password: 'hunter2', deep: { list: [1, null, true, 'x'.repeat(20_000)] } }
    expect(toRecordedArguments(args, 'full')).toEqual(args)
    const kept = toRecordedArguments({ text: 'x'.repeat(200_000), more: 1 }, 'full')
    expect(bytesOf(kept)).toBeLessThan(66_000)
    expect(kept).toMatchObject({
      text: expect.stringMatching(/x… \[cut: 200000 characters in all\]$/),
      '[left out]': 1,
    })
  })

  it('records types and lengths with `shape`', () => {
    const args = { path: '/etc', depth: 3, all: false, none: null, list: ['ab', { x: 'abc' }] }
    expect(toRecordedArguments(args, 'shape')).toEqual({
      path: 'text of 4',
      depth: 'number',
      all: 'boolean',
      none: 'null',
      list: ['text of 2', { x: 'text of 3' }],
    })
  })

  it('hides every value under a secret name', () => {
    expect(
      redacted({
        password: 'hunter2',
        pin: 1234,
        userToken: 'abc',
        auth: { user: 'me', pass: 'word' },
        headers: { Authorization: 'Basic x', Cookie: ['a=b'], 'X-Api-Key': 'k', Accept: '*/*' },
      }),
    ).toEqual({
      password: HIDDEN,
      pin: HIDDEN,
      userToken: HIDDEN,
      auth: ALL_HIDDEN,
      headers: { Authorization: HIDDEN, Cookie: ALL_HIDDEN, 'X-Api-Key': HIDDEN, Accept: '*/*' },
    })
  })

  it('records a value under a name that only looks secret', () => {
    const args = { author: 'Ann', keyboard: 'qwertz', max_tokens: 4096, secretary: 'Bob', key: 'name', auth: true }
    expect(redacted(args)).toEqual(args)
  })

  it('hides what a text itself names as a secret', () => {
    expect(
      redacted({ cmd: 'mysql --password hunter2 -u me; PGPASSWORD=x psql; curl -d \'{"token": "abc"}\'' }),
    ).toEqual({
      cmd: `mysql --password ${HIDDEN} -u me; PGPASSWORD=${HIDDEN} psql; curl -d '{"token": "${HIDDEN}"}'`,
    })
    expect(redacted({ code: 'token: string, password: null' })).toEqual({ code: 'token: string, password: null' })
  })

  it('hides known secrets', () => {
    expect(redacted({ q: 'say hunter22 now', hunter22: 1 }, listSecretForms(['hunter22']))).toEqual({
      q: 'say ••• now',
      '••• #2': 1,
    })
  })

  it('shortens a long string with a note, after its secrets were found', () => {
    const jwt = createFakeSecrets().find(({ kind }) => kind === 'JWT')?.secret ?? ''
    const kept = redacted({ text: `${'x'.repeat(480)} ${jwt} ${'y'.repeat(9_000)}` }) as { text: string }
    expect(kept.text).toMatch(/^x{480} \[redacted: JWT.*… \[cut: \d+ characters in all\]$/)
    expect(JSON.stringify(kept)).not.toContain(jwt.slice(0, 12))
  })

  it('records no part of a secret with `shape` or `redacted`', () => {
    const secret = fc.integer({ min: 1, max: 9_999 }).chain((seed) => fc.constantFrom(...createFakeSecrets(seed)))
    const places: readonly ((text: string) => JsonObject)[] = [
      (text) => ({ a: text }),
      (text) => ({ a: [{ b: `say: ${text}` }] }),
      (text) => ({ [text]: 1 }),
      (text) => ({ a: { [`x ${text}`]: [text] } }),
      (text) => ({ a: JSON.stringify({ b: text }) }),
      (text) => ({ a: 'x'.repeat(490), b: `${'x'.repeat(490)} ${text}` }),
    ]
    fc.assert(
      fc.property(secret, fc.constantFrom(...places), ({ secret, text = secret }, place) => {
        for (const how of ['redacted', 'shape'] as const) {
          const kept = JSON.stringify(toRecordedArguments(place(text), how))
          expect(kept).not.toContain(secret.slice(-16))
          expect(kept).not.toContain(secret.slice(0, 16))
        }
      }),
      { numRuns: 300 },
    )
  })

  it.each<readonly [ArgumentDetail, number]>([
    ['redacted', 10_000],
    ['shape', 10_000],
    ['full', 70_000],
  ])('stays small with %s, however large the arguments are', (detail, max) => {
    const deep = (levels: number): Json => (levels === 0 ? 'x'.repeat(1_000) : { a: deep(levels - 1), b: [[]] })
    const large: readonly JsonObject[] = [
      { a: Array.from({ length: 100_000 }, () => []) as Json },
      { a: Array.from({ length: 100_000 }, () => 'é\u0000"'.repeat(200)) },
      Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`name ${at} ${'n'.repeat(200)}`, at])),
      { a: deep(100) },
      { a: Array.from({ length: 1_000 }, () => deep(10)) },
    ]
    for (const args of large) expect(bytesOf(toRecordedArguments(args, detail))).toBeLessThan(max)
  })

  it('records nothing if redaction fails', () => {
    const args = {
      get text(): string {
        throw new Error('hunter2')
      },
    }
    for (const how of ['redacted', 'shape', 'full'] as const)
      expect(toRecordedArguments(args, how)).toEqual({ '[redaction failed]': true })
  })

  it('preserves a member named __proto__', () => {
    const kept = toRecordedArguments(JSON.parse('{"__proto__":{"a":1}}') as JsonObject, 'redacted')
    expect(JSON.stringify(kept)).toBe('{"__proto__":{"a":1}}')
  })

  it('never throws', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue()),
        fc.constantFrom<ArgumentDetail>('redacted', 'shape'),
        (args, how) => {
          expect(toRecordedArguments(args as JsonObject, how)).not.toEqual({ '[redaction failed]': true })
        },
      ),
    )
  })
})
