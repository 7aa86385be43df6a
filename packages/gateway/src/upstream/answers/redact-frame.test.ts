import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../../tests/promises.ts'
// Tests may look inside.
import { createFakeSecrets, createRandomText, type FakeSecret } from '../../../../core/src/fake-secrets.test-kit.ts'
import type { Frame } from '../transport.ts'
import { FrameReader } from './frame-reader.ts'
import { redactFrame } from './redact-frame.ts'

const [github] = createFakeSecrets() as readonly [FakeSecret]
const SHOWN = '[redacted: GitHub token]'

function frameOf(message: string | object, cuts: readonly number[] = []): Frame {
  const bytes = Buffer.from(typeof message === 'string' ? message : JSON.stringify(message))
  const reader = new FrameReader(100_000_000)
  const places = [0, ...cuts.map((cut) => cut % bytes.length).sort((a, b) => a - b), bytes.length]
  places.slice(1).forEach((end, at) => {
    reader.feed(bytes.subarray(places[at], end))
  })
  const outcome = reader.finish()
  if (outcome.kind !== 'frame') throw new Error(outcome.kind)
  return outcome.frame
}

/** Small frames are redacted synchronously. */
const redactNow = (frame: Frame): Frame => {
  const redacted = redactFrame(frame)
  if (redacted instanceof Promise) throw new Error('not at once')
  return redacted
}

const textOf = ({ parts }: Frame): string => Buffer.concat(parts).toString()

/** Scans the same bytes again: the envelope must be correct for the remaining bytes. */
function expectTrue(frame: Frame): void {
  const { hasMethod, bytes, id, numericId, result, error, isError, resultType } = frameOf(textOf(frame)).envelope
  expect(frame.envelope).toMatchObject({ hasMethod, bytes, id, numericId, result, error, isError, resultType })
}

async function redactAmongOthers(frame: Frame): Promise<{ redacted: Frame; turns: number }> {
  let turns = 0
  let next = setImmediate(function take() {
    turns++
    next = setImmediate(take)
  })
  const redacted = await redactFrame(frame)
  clearImmediate(next)
  return { redacted, turns }
}

const answer = (result: unknown): object => ({ jsonrpc: '2.0', id: 7, result })

describe(`${promise('GOV-18')} redactFrame`, () => {
  it('gives others their turns even if there is little to redact and much to scan', async () => {
    const frame = frameOf(`{"id":1,"result":{"n":[${'1,'.repeat(1_500_000)}2],"a":"${github.secret}"}}`)
    const { redacted, turns } = await redactAmongOthers(frame)
    expect(textOf(redacted).slice(-50)).toContain(SHOWN)
    expect(turns).toBeGreaterThan(6)
  })

  it('returns the same frame if there is nothing to redact', () => {
    const plain = frameOf(answer({ content: [{ type: 'text', text: 'See https://a.example:80/b@c\n\u001b[1m' }] }))
    expect(redactNow(plain)).toBe(plain)
    const escapes = frameOf('{"id":1,"result":{"a":"\\u0041\\u002B"}}')
    expect(redactNow(escapes)).toBe(escapes)
  })

  it('finds every kind wherever the pieces end, and gives the rest a correct envelope', () => {
    const secret = fc.integer({ min: 1, max: 9_999 }).chain((seed) => fc.constantFrom(...createFakeSecrets(seed)))
    const cuts = fc.array(fc.nat(), { maxLength: 30 })
    fc.assert(
      fc.property(secret, fc.string(), cuts, ({ kind, secret, text = secret }, other, places) => {
        const message = answer({ content: [{ type: 'text', text: `${other}\n${text}` }, { n: 1.5 }], isError: true })
        const redacted = redactNow(frameOf(message, places))
        expect(textOf(redacted)).not.toContain(JSON.stringify(secret).slice(1, -1))
        expect(textOf(redacted)).toContain(`[redacted: ${kind}`)
        expect(redacted.envelope).toMatchObject({ isError: true, numericId: 7 })
        expectTrue(redacted)
      }),
      { numRuns: 300 },
    )
  })

  it.each([
    ['the id before the result', `{"jsonrpc":"2.0","id":7,"result":{"a":"${github.secret}"}}`],
    ['the id after it', `{"result":{"a":"${github.secret}"},"jsonrpc":"2.0","id":7}`],
    ['line breaks between', `{\n"id": 7,\r\n"result" : {"a":"${github.secret}","resultType":"complete"}\n}`],
    ['an error', `{"jsonrpc":"2.0","id":7,"error":{"code":-1,"message":"bad key ${github.secret}"}}`],
    ['numbers no parser keeps', `{"id":7,"result":{"n":12345678901234567890,"a":["${github.secret}"]}}`],
  ])('preserves everything else byte for byte: %s', (_what, message) => {
    const redacted = redactNow(frameOf(message))
    expect(textOf(redacted)).toBe(message.replace(github.secret, SHOWN))
    expectTrue(redacted)
  })

  it('finds escaped secrets', () => {
    const written = [...github.secret].map((char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')
    expect(textOf(redactNow(frameOf(`{"id":7,"result":{"a":"x ${written}"}}`)))).toBe(
      `{"id":7,"result":{"a":"x ${SHOWN}"}}`,
    )
    const word = 'hunter22x'
    const url = `{"id":7,"result":{"a":"https:\\/\\/me:${word}@host\\/"}}`
    expect(textOf(redactNow(frameOf(url)))).not.toContain(word)
    const hook = `{"id":7,"result":{"a":"https:\\/\\/hooks.slack.com\\/services\\/T${createRandomText(1)('AB12', 30)}"}}`
    expect(textOf(redactNow(frameOf(hook)))).toContain('[redacted: Slack hook]')
  })

  it('does not change images, nor the state that a client must send back', () => {
    const image = frameOf(answer({ content: [{ type: 'image', data: randomBytes(1_000_000).toString('base64') }] }))
    expect(redactNow(image)).toBe(image)
    const jwt = createFakeSecrets().find(({ kind }) => kind === 'JWT')?.secret
    const asking = frameOf(answer({ resultType: 'input_required', requestState: jwt, inputRequests: { a: {} } }))
    expect(redactNow(asking)).toBe(asking)
  })

  it('gives others their turns while it scans a large frame, and finds secrets across its pieces', async () => {
    const text = `${'line\n'.repeat(1_000_000)} ${github.secret}`
    const { length } = JSON.stringify(answer({ text }))
    const cuts = Array.from({ length: Math.floor(length / 60_000) }, (_, at) => at * 60_000)
    const { redacted, turns } = await redactAmongOthers(frameOf(answer({ text }), [...cuts, length - 20]))
    expect(textOf(redacted).slice(-50)).toContain(SHOWN)
    expectTrue(redacted)
    expect(turns).toBeGreaterThan(0)
  })

  it('gives others their turns while it redacts a large frame', async () => {
    const message = JSON.stringify(answer({ text: `${github.secret} ${'line\n'.repeat(1_000_000)}` }))
    const { redacted, turns } = await redactAmongOthers(frameOf(message))
    expect(textOf(redacted) === message.replace(github.secret, SHOWN)).toBe(true)
    expectTrue(redacted)
    expect(turns).toBeGreaterThan(4)
  })

  it('gives others their turns with very many short strings, even if they are small in total', async () => {
    const message = JSON.stringify(answer({ texts: [...Array<string>(150_000).fill('a'), github.secret] }))
    const { redacted, turns } = await redactAmongOthers(frameOf(message))
    expect(textOf(redacted) === message.replace(github.secret, SHOWN)).toBe(true)
    expect(turns).toBeGreaterThan(10)
  })

  it('returns the same large frame if there is nothing to redact', async () => {
    const plain = frameOf(answer({ text: 'line\n'.repeat(1_000_000) }), [60_000])
    expect(await redactFrame(plain)).toBe(plain)
  })
})
