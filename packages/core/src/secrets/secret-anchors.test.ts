import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createFakeSecrets } from '../fake-secrets.test-kit.ts'
import { redactText } from './find-secrets.ts'
import { mayHoldSecret } from './secret-anchors.ts'

const bytesOf = (text: string): Uint8Array => Buffer.from(text)

function pieces(bytes: Uint8Array, cuts: readonly number[]): readonly Uint8Array[] {
  const places = [0, ...[...cuts].map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]
  return places.slice(1).map((end, at) => bytes.subarray(places[at], end))
}

describe('mayHoldSecret', () => {
  it.each(createFakeSecrets())('finds a $kind in JSON, at even and odd positions', ({ secret, text = secret }) => {
    for (const before of ['', ' ', '  ']) expect(mayHoldSecret([bytesOf(JSON.stringify([before, text]))])).toBe(true)
  })

  it('finds whatever would be redacted, however it is split into chunks', () => {
    const secret = fc.integer({ min: 1, max: 9_999 }).chain((seed) => fc.constantFrom(...createFakeSecrets(seed)))
    const cuts = fc.array(fc.nat(), { maxLength: 60 })
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), secret, cuts, (before, { secret, text = secret }, places) => {
        const whole = `${before} ${text}`
        fc.pre(redactText(whole) !== whole)
        expect(mayHoldSecret(pieces(bytesOf(JSON.stringify({ a: [whole] })), places))).toBe(true)
      }),
      { numRuns: 500 },
    )
  })

  it('finds one at the very beginning, at any memory alignment', () => {
    for (const { secret, text = secret } of createFakeSecrets())
      for (let place = 0; place < 8; place++)
        expect(mayHoldSecret([bytesOf(`${'-'.repeat(place)}${text} and some more`).subarray(place)])).toBe(true)
  })

  it.each(['=', '\t=\t', ' : ', '":\t"', '\t=>\t', ':='])('finds a value that is assigned by %j', (assignment) => {
    const text = `api_key${assignment}${createFakeSecrets().at(-1)?.secret}`
    expect(redactText(text)).not.toBe(text)
    expect(mayHoldSecret([bytesOf(JSON.stringify({ text }))])).toBe(true)
  })

  it('finds a value by the name of its member, in any JSON formatting', () => {
    const json = { api_key: createFakeSecrets().at(-1)?.secret }
    for (const space of [undefined, 1, '\t'])
      expect(mayHoldSecret([bytesOf(JSON.stringify(json, null, space))])).toBe(true)
  })

  it('finds one that arrives byte by byte', () => {
    for (const { secret, text = secret } of createFakeSecrets()) {
      const bytes = bytesOf(JSON.stringify({ text }))
      expect(mayHoldSecret(pieces(bytes, [...bytes.keys()]))).toBe(true)
    }
  })

  it.each(['p', '_', '-', '.', 'A', '7', '='])('returns true if %j is escaped as \\u00…', (char) => {
    const hex = char.charCodeAt(0).toString(16)
    expect(mayHoldSecret([bytesOf(`{"a":"b\\u00${hex}c"}`)])).toBe(true)
    expect(mayHoldSecret([bytesOf(`{"a":"b\\u00${hex.toUpperCase()}c"}`)])).toBe(true)
  })

  it('returns false for ordinary text', () => {
    const text = 'See https://example.com:8080/a@b?c=d and <b> — "quoted", \u001b[1m, 50% of C:\\Users\\me, é'
    expect(mayHoldSecret([bytesOf(JSON.stringify({ text })), bytesOf('\\u003cb\\u003e \\u0026 \\u00e9')])).toBe(false)
  })
})
