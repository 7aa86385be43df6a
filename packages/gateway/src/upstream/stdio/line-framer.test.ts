import type { SallyportError } from '@sallyport/core'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { LineFramer } from './line-framer.ts'

function frame(maxMessageBytes = 10_000) {
  const messages: string[] = []
  const troubles: string[] = []
  const failures: { readonly id: number; readonly error: SallyportError }[] = []
  const framer = new LineFramer({
    maxMessageBytes,
    events: {
      onFrame: ({ parts }) => messages.push(Buffer.concat(parts).toString()),
      onFailure: (id, error) => failures.push({ id, error }),
      onWarning: (text) => troubles.push(text),
    },
  })
  return { framer, messages, troubles, failures }
}

function* cut(bytes: Buffer, cuts: readonly number[]): Generator<Buffer> {
  const places = [0, ...cuts.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]
  for (let at = 1; at < places.length; at++) yield bytes.subarray(places[at - 1], places[at])
}

describe('LineFramer', () => {
  it('finds the same messages however the stream is split', () => {
    const line = fc.record({
      text: fc.string({ unit: 'binary', maxLength: 20 }).map((text) => JSON.stringify({ text })),
      mark: fc.constantFrom('', '\ufeff'),
      end: fc.constantFrom('\n', '\r\n', '\n\n', '\n\r\n'),
    })
    fc.assert(
      fc.property(fc.array(line), fc.array(fc.nat()), (lines, cuts) => {
        const { framer, messages } = frame()
        const stream = Buffer.from(lines.map(({ mark, text, end }) => mark + text + end).join(''))
        for (const chunk of cut(stream, cuts)) framer.push(chunk)
        expect(messages).toEqual(lines.map(({ text }) => Buffer.from(text).toString()))
      }),
      { numRuns: 500 },
    )
  })

  it('leaves the carriage return of a line end out of the message, also when it ended a chunk', () => {
    const { framer, messages } = frame()
    for (const chunk of ['{"a":1}\r', '\n{"b":2}\r\n', '\r', '\n', '{"c"\r', ':3}\n']) framer.push(Buffer.from(chunk))
    expect(messages).toEqual(['{"a":1}', '{"b":2}', '{"c"\r:3}'])
  })

  it('reports a byte order mark once and ignores it', () => {
    const { framer, messages, troubles } = frame()
    framer.push(Buffer.from('\ufeff{"a":1}\n\ufeff{"b":2}\n'))
    expect(messages).toEqual(['{"a":1}', '{"b":2}'])
    expect(troubles).toHaveLength(1)
    expect(troubles[0]).toContain('byte order mark')
  })

  it('treats an incomplete byte order mark as part of the line', () => {
    const { framer, troubles } = frame()
    for (const byte of Buffer.from([0xef, 0xbb, 0x41, 0x0a, 0xef, 0x0a])) framer.push(Buffer.from([byte]))
    expect(troubles).toHaveLength(2)
    expect(troubles[0]).toContain('A')
  })

  it('reports the beginning of an invalid line and delivers the next message', () => {
    const { framer, messages, troubles } = frame()
    framer.push(Buffer.from('Server \u001b[1mready\u0007\n{"a":1}\n'))
    expect(troubles).toEqual([expect.stringContaining('Server \\u001b[1mready\\u0007')])
    expect(messages).toEqual(['{"a":1}'])
  })

  it('reports many invalid lines in ever larger steps', () => {
    const { framer, troubles } = frame()
    framer.push(Buffer.from('noise\n'.repeat(100_000)))
    expect(troubles.length).toBeLessThan(25)
    expect(troubles.at(-1)).toContain('65536 such lines')
  })

  it('fails only the call whose answer is over the limit', () => {
    const { framer, messages, failures, troubles } = frame(100)
    const large = `{"jsonrpc":"2.0","id":7,"result":{"text":"${'x'.repeat(1_000)}"}}\n`
    for (const chunk of cut(Buffer.from(`{"id":6}\n${large}{"id":8}\n`), [40, 300, 700])) framer.push(chunk)
    expect(messages).toEqual(['{"id":6}', '{"id":8}'])
    expect(failures).toMatchObject([{ id: 7, error: { code: 'UPSTREAM_TOO_LARGE' } }])
    expect(failures[0]?.error.message).toContain('at most 100')
    expect(failures[0]?.error.hint).toContain('`max_message` ')
    expect(troubles).toEqual([])
  })

  it.each([
    ['a notification', '{"method":"x","params":"…"}'],
    ['a request under the id of a call of ours', '{"id":7,"method":"x","params":"…"}'],
    ['an answer with a string as id', '{"id":"7","result":"…"}'],
    ['an answer with a null id', '{"id":null,"result":"…"}'],
    ['broken JSON', '{"id":7,"result":"…"'],
  ])('fails no call for %s over the limit', (_what, text) => {
    const { framer, failures, troubles } = frame(100)
    framer.push(Buffer.from(`${text.replace('…', 'x'.repeat(1_000))}\n`))
    expect(failures).toEqual([])
    expect(troubles).toEqual([expect.stringContaining('names no call')])
  })

  it('delivers a whole last line without a line feed, and reports an incomplete one', () => {
    const whole = frame()
    whole.framer.push(Buffer.from('{"a":1}'))
    whole.framer.end()
    expect(whole.messages).toEqual(['{"a":1}'])
    const half = frame()
    half.framer.push(Buffer.from('{"a":'))
    half.framer.end()
    expect(half.troubles).toEqual([expect.stringContaining('{"a":')])
  })

  it('returns how many lines a chunk ended', () => {
    const { framer } = frame()
    expect(framer.push(Buffer.from('1\n\n2\n3'))).toBe(3)
    expect(framer.push(Buffer.from(''))).toBe(0)
  })

  it('handles half a million tiny lines and a line of many megabytes', () => {
    const { framer, failures } = frame(1_000_000)
    const tiny = Buffer.from('{}\n'.repeat(20_000))
    let lines = 0
    for (let round = 0; round < 25; round++) lines += framer.push(tiny)
    expect(lines).toBe(500_000)
    framer.push(Buffer.from('{"id":1,"result":"'))
    const piece = Buffer.alloc(65_536, 'x')
    for (let round = 0; round < 1_600; round++) framer.push(piece)
    framer.push(Buffer.from('"}\n'))
    expect(failures).toMatchObject([{ id: 1 }])
  })
})
