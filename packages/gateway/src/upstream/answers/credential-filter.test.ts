import { setImmediate as nextTurn } from 'node:timers/promises'
import { CALLER_TOKEN_PREFIX, SallyportError } from '@sallyport/core'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../../tests/promises.ts'
import type { Frame, Transport, TransportEvents } from '../transport.ts'
import { CredentialFilter, createCredentialFilter, hideCredentials, REDACTED } from './credential-filter.ts'
import { FrameReader } from './frame-reader.ts'
import { redactFrame } from './redact-frame.ts'

const SECRET = 'p4ss/w+rd"with\\odd~chars&more'

function frameOf(json: string, cuts: readonly number[] = []): Frame {
  const bytes = Buffer.from(json)
  const reader = new FrameReader(100_000_000)
  const places = [0, ...cuts.map((cut) => cut % bytes.length).sort((a, b) => a - b), bytes.length]
  places.slice(1).forEach((end, at) => {
    reader.feed(bytes.subarray(places[at], end))
  })
  const outcome = reader.finish()
  if (outcome.kind !== 'frame') throw new Error(`${outcome.kind}: ${json}`)
  return outcome.frame
}

const textOf = ({ parts }: Frame): string => Buffer.concat(parts).toString()

const urlSafe = (text: string): string => text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
const escapeEach = (text: string): string =>
  [...text].map((one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')
const percentEach = (text: string): string =>
  [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0').toUpperCase()}`).join('')
const inJson = (text: string): string => JSON.stringify(text).slice(1, -1)

/** Ways in which a server may write a credential into a JSON string on the wire. */
const WRITERS: Readonly<Record<string, (secret: string) => string>> = {
  plain: inJson,
  'with escaped slashes': (secret) => inJson(secret).replaceAll('/', '\\/'),
  'as Go writes it': (secret) => inJson(secret).replaceAll('&', '\\u0026').replaceAll('<', '\\u003c'),
  'each as a number': escapeEach,
  'as JSON within JSON': (secret) => inJson(JSON.stringify({ value: secret })),
  'numbers within JSON within JSON': (secret) => inJson(`{"value":"${escapeEach(secret)}"}`),
  'in a URL': (secret) => encodeURIComponent(secret),
  'in a form': (secret) => new URLSearchParams({ a: secret }).toString(),
  'every byte in a URL': percentEach,
  'twice in a URL': (secret) => encodeURIComponent(encodeURIComponent(secret)),
  'in a page': (secret) =>
    inJson(secret.replace(/[&<>"'/=+]/g, (one) => `&#x${one.charCodeAt(0).toString(16).toUpperCase()};`)),
  'in a page by names': (secret) =>
    inJson(secret.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;').replaceAll("'", '&#39;')),
  'each in a page': (secret) => [...secret].map((one) => `&#${one.charCodeAt(0)};`).join(''),
  'twice in base64': (secret) => Buffer.from(Buffer.from(`user:${secret}`).toString('base64')).toString('base64'),
  'in base64 in JSON in base64': (secret) =>
    Buffer.from(JSON.stringify({ auth: Buffer.from(`u:${secret}`).toString('base64') })).toString('base64'),
  hex: (secret) => Buffer.from(secret).toString('hex'),
  HEX: (secret) => Buffer.from(secret).toString('hex').toUpperCase(),
  ...Object.fromEntries(
    ['', 'a', 'ab', 'user:', 'Authorization: Bearer '].flatMap((before) => [
      [`base64 behind "${before}"`, (secret: string) => Buffer.from(`${before}${secret}; end`).toString('base64')],
      [`url-safe after "${before}"`, (secret: string) => urlSafe(Buffer.from(before + secret).toString('base64'))],
    ]),
  ),
}

/** Everything that a reader could still decode. */
function isReadable(shown: string, secret: string): boolean {
  const texts = [
    shown,
    JSON.stringify(JSON.parse(shown)),
    decodeURIComponent(shown.replaceAll(/%(?![0-9a-f]{2})/gi, '')),
  ]
  const decoded = [...shown.matchAll(/[\w+/-]{4,}/g)].flatMap(([run]) =>
    [0, 1, 2, 3].map((skip) => Buffer.from(run.slice(skip), 'base64').toString('latin1')),
  )
  const twice = decoded.flatMap((text) =>
    [...text.matchAll(/[\w+/-]{4,}/g)].flatMap(([run]) =>
      [0, 1, 2, 3].map((skip) => Buffer.from(run.slice(skip), 'base64').toString('latin1')),
    ),
  )
  const page = shown.replaceAll(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)))
  const hex = [...shown.matchAll(/[0-9a-f]{8,}/gi)].map(([run]) => Buffer.from(run, 'hex').toString('latin1'))
  return [...texts, page, ...decoded, ...twice, ...hex].some((text) => text.includes(secret))
}

describe(`${promise('GOV-18')} a credential that a server was given`, () => {
  it.each(Object.entries(WRITERS))('does not come back %s', async (_, write) => {
    const filter = new CredentialFilter([SECRET])
    const json = `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"before ${write(SECRET)} after"}]}}`
    const shown = textOf(await redactFrame(frameOf(json), filter))
    expect(shown).toContain(REDACTED)
    expect(shown).toContain('before ')
    expect(isReadable(shown, SECRET)).toBe(false)
  })

  it('is found wherever it is cut, in any member of a message, and the message stays JSON', async () => {
    const character = fc.constantFrom(...'abcdefghijkXYZ0123456789-_.~+/=:"\\&<é ')
    const secrets = fc.array(character, { minLength: 8, maxLength: 60 }).map((all) => all.join('').trim())
    const message = fc.constantFrom<(text: string) => string>(
      (text) => `{"jsonrpc":"2.0","id":7,"result":{"a":[1,{"b":"${text}"}]}}`,
      (text) => `{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"${text}","data":{"${text}":1}}}`,
      (text) => `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x ${text}"}}`,
      (text) => `{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"${text}","n":12345678}}`,
    )
    const writer = fc.constantFrom(...Object.values(WRITERS))
    await fc.assert(
      fc.asyncProperty(
        secrets,
        writer,
        message,
        fc.array(fc.nat(), { maxLength: 4 }),
        async (secret, write, wrap, cuts) => {
          fc.pre(secret.length >= 8 && /[A-Za-z0-9_.-]{4}/.test(secret))
          const json = wrap(write(secret))
          const shown = textOf(await redactFrame(frameOf(json, cuts), new CredentialFilter([secret])))
          expect(JSON.parse(shown)).toMatchObject({ jsonrpc: '2.0' })
          expect(isReadable(shown, secret)).toBe(false)
        },
      ),
      { numRuns: 500 },
    )
  })

  it('leaves everything else unchanged, byte for byte', async () => {
    const filter = new CredentialFilter(['12345678', SECRET])
    const others = [
      '{"jsonrpc":"2.0","id":12345678,"result":{"n":[12345678,123456789.0,1e5],"s":"1234567 100% %20 \\u0026 \\u00e9"}}',
      '{"jsonrpc":"2.0","id":1,"result":{"text":"p4ss/w+rd"}}',
      `{"jsonrpc":"2.0","id":1,"result":{"text":"${'word % \\u003c '.repeat(5_000)}"}}`,
    ]
    for (const json of others) expect(textOf(await redactFrame(frameOf(json), filter))).toBe(json)
    const json = '{"jsonrpc":"2.0","id":12345678,"result":{"nextCursor":"12345678","n":12345678,"s":"12345678"}}'
    expect(textOf(await redactFrame(frameOf(json), filter))).toBe(json.replace('"s":"12345678"', `"s":"${REDACTED}"`))
  })

  it('leaves a member with base64 bytes valid', async () => {
    const blob = Buffer.from(`A=${SECRET}\n`).toString('base64')
    const json = JSON.stringify({ jsonrpc: '2.0', id: 1, result: { contents: [{ uri: 'a:b', blob }] } })
    const shown = JSON.parse(textOf(await redactFrame(frameOf(json), new CredentialFilter([SECRET]))))
    expect(Buffer.from(shown.result.contents[0].blob, 'base64').toString()).toBe(REDACTED)
  })

  it('is found line by line, and in pieces if it is long', () => {
    const key = `-----BEGIN KEY-----\n${'abcdefghijklmnop\n'.repeat(3)}-----END KEY-----`
    const long = Array.from({ length: 500 }, (_, index) => String(index)).join('x')
    const filter = new CredentialFilter([key, long])
    expect(filter.redact('say abcdefghijklmnop')).toBe(`say ${REDACTED}`)
    expect(filter.redact(`say ${long} now`)).toMatch(/^say (\[redacted: credential of the server\])+\w{0,7} now$/)
  })

  it('takes linear time, whatever the message contains', () => {
    const filter = new CredentialFilter([`\\\\\\\\${SECRET}`, '%%%%%%%%aaaaaaaa', 'aaaaaaaaaaaaaaab'])
    for (const piece of ['\\', '%25', '%', 'a', 'YWFh', '\\n', '\n', 'YWFh\n\n\n', '\\u0061'])
      expect(filter.redact(piece.repeat(200_000)).length).toBeGreaterThan(0)
  })

  it('with fewer than eight characters is ignored', () => {
    expect(createCredentialFilter(['8080', 'true', ' short  '])).toBeUndefined()
    expect(createCredentialFilter([])).toBeUndefined()
  })
})

describe('a transport whose server has credentials', () => {
  function open() {
    let events: TransportEvents | undefined
    const transport = {
      open: async (given: TransportEvents) => {
        events = given
      },
    } as unknown as Transport
    const filter = createCredentialFilter([SECRET])
    const reported: unknown[] = []
    void hideCredentials(transport, filter).open({
      onFrame: (frame, during) => reported.push([JSON.parse(textOf(frame)), during]),
      onFailure: (id, error) => reported.push([id, error.code, error.text]),
      onWarning: (text) => reported.push(text),
      onClose: (reason) => reported.push(`closed: ${reason}`),
    })
    if (events === undefined) throw new Error('not opened')
    return { events, reported }
  }

  it('does not reveal them in frames, failures, warnings and its close reason', () => {
    const { events, reported } = open()
    events.onFrame(frameOf(`{"id":1,"result":{"a":${JSON.stringify(SECRET)}}}`), 5)
    events.onFailure(2, new SallyportError('UPSTREAM_FAILED', `It said ${SECRET}.`, { hint: `Not ${SECRET}.` }))
    events.onWarning(SECRET)
    events.onClose(`it wrote ${SECRET}`)
    expect(reported).toEqual([
      [{ id: 1, result: { a: REDACTED } }, 5],
      [2, 'UPSTREAM_FAILED', `It said ${REDACTED}. Not ${REDACTED}.`],
      REDACTED,
      `closed: it wrote ${REDACTED}`,
    ])
  })

  it('closes after a large answer that is still being filtered', async () => {
    const { events, reported } = open()
    const large = { id: 1, result: { text: `${'x'.repeat(3_000_000)}${SECRET}` } }
    events.onFrame(frameOf(JSON.stringify(large)), undefined)
    const closed = new Promise<void>((resolve) => {
      const wait = (): void => void (reported.length === 2 ? resolve() : setImmediate(wait))
      wait()
    })
    events.onClose('it ended')
    expect(reported).toEqual([])
    await closed
    expect(reported[1]).toBe('closed: it ended')
    expect(JSON.stringify(reported[0])).toContain(REDACTED)
  })

  it('keeps a message before the answer that came after it, however long it takes to filter', async () => {
    const { events, reported } = open()
    const message = (params: object): string =>
      JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params })
    events.onFrame(frameOf(message({ level: 'error', data: `${'x'.repeat(3_000_000)}${SECRET}` })), undefined)
    events.onFrame(frameOf(message({ level: 'error', data: 'short' })), undefined)
    events.onFrame(frameOf(JSON.stringify({ jsonrpc: '2.0', id: 1, result: {} })), undefined)
    events.onClose('it ended')
    while (reported.length < 4) await nextTurn()
    const shown = reported.map((one) => JSON.stringify(one))
    expect(shown[0]).toContain(REDACTED)
    expect(shown[1]).toContain('short')
    expect(shown[2]).toContain('result')
    expect(shown[3]).toContain('it ended')
  })
})

describe(`a token that is made while the server runs (${promise('SEN-19')})`, () => {
  const filter = new CredentialFilter(['another-secret'], CALLER_TOKEN_PREFIX)
  const rest = fc.stringMatching(/^[\w-]{40,700}\.[\w-]{40,700}$/)
  const around = fc.string({ maxLength: 40 }).filter((text) => !/[\w.+/=\\%&-]/.test(text))

  it.each(Object.entries(WRITERS))('is removed completely, whatever it consists of: %s', (_, write) => {
    fc.assert(
      fc.property(rest, around, fc.array(fc.nat(), { maxLength: 3 }), (end, text, cuts) => {
        const token = CALLER_TOKEN_PREFIX + end
        const frame = frameOf(`{"jsonrpc":"2.0","id":1,"result":{"a":"x ${write(token)} ${inJson(text)}"}}`, cuts)
        const shown = textOf(redactFrame(frame, filter) as Frame)
        expect(shown).toContain(REDACTED)
        for (const piece of [end.slice(0, 30), end.slice(-30)])
          expect(shown).not.toContain(inJson(write(piece)).slice(4, -4))
        expect(shown.length).toBeLessThan(200 + inJson(text).length)
      }),
      { numRuns: 50 },
    )
  })

  it('is removed from a long text wherever it is', () => {
    const token = `${CALLER_TOKEN_PREFIX}${'a'.repeat(600)}.${'b'.repeat(86)}`
    for (const at of [0, 245_000, 261_900, 262_143, 262_144, 400_000]) {
      const text = `${'x '.repeat(at / 2)}${token} ${'y '.repeat(200_000)}`
      expect(filter.redact(text)).toBe(text.replace(token, REDACTED))
    }
  })

  it('is no other token, and without tokens and credentials there is no filter', () => {
    const other = 'eyJhbGciOiJFZERTQSIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJhbm4ifQ.c2lnbmF0dXJl'
    expect(filter.redact(`${other} another-secret`)).toBe(`${other} ${REDACTED}`)
    expect(createCredentialFilter([])).toBe(undefined)
    expect(createCredentialFilter([], CALLER_TOKEN_PREFIX)?.redact(`${CALLER_TOKEN_PREFIX}x.y.z`)).toBe(REDACTED)
  })
})
