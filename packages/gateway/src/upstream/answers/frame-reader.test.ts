import { describe, expect, it } from 'vitest'
import { FrameReader } from './frame-reader.ts'

const ANSWER = '{"jsonrpc":"2.0","id":7,"result":{"text":"Grüße €😀"}}'

function read(reader: FrameReader, pieces: Iterable<Buffer>) {
  for (const piece of pieces) reader.feed(piece)
  return reader.finish()
}

const bytewise = (bytes: Buffer) => Array.from(bytes, (byte) => Buffer.from([byte]))

describe('FrameReader', () => {
  it('preserves the bytes as they arrived and reports the id', () => {
    const outcome = read(new FrameReader(1_000), [Buffer.from(ANSWER)])
    if (outcome.kind !== 'frame') throw new Error(outcome.kind)
    expect(Buffer.concat(outcome.frame.parts).toString()).toBe(ANSWER)
    expect(outcome.frame.envelope.numericId).toBe(7)
  })

  it('stores a message that arrives byte by byte in a few parts', () => {
    const text = JSON.stringify({ id: 1, result: 'é'.repeat(50_000) })
    const outcome = read(new FrameReader(1_000_000), bytewise(Buffer.from(text)))
    if (outcome.kind !== 'frame') throw new Error(outcome.kind)
    expect(Buffer.concat(outcome.frame.parts).toString()).toBe(text)
    expect(outcome.frame.parts.length).toBeLessThan(10)
  })

  it('preserves the order of small and large pieces', () => {
    const large = 'x'.repeat(5_000)
    const pieces = ['{"a":"', '1', large, '2', '3', large, '4', '"}']
    const outcome = read(
      new FrameReader(1_000_000),
      pieces.map((piece) => Buffer.from(piece)),
    )
    if (outcome.kind !== 'frame') throw new Error(outcome.kind)
    expect(Buffer.concat(outcome.frame.parts).toString()).toBe(pieces.join(''))
  })

  it('has the same envelope for a short answer, wherever the end of a chunk splits it', () => {
    const bytes = Buffer.from('{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"aé"}]}}')
    const whole = read(new FrameReader(1_000), [bytes])
    for (let at = 1; at < bytes.length; at++) {
      const outcome = read(new FrameReader(1_000), [bytes.subarray(0, at), bytes.subarray(at)])
      if (outcome.kind !== 'frame' || whole.kind !== 'frame') throw new Error(outcome.kind)
      expect(outcome.frame.envelope).toEqual(whole.frame.envelope)
      expect(Buffer.concat(outcome.frame.parts)).toEqual(bytes)
    }
  })

  it('does not share memory between one message and the next', () => {
    const reader = new FrameReader(1_000)
    const first = read(reader, bytewise(Buffer.from('[1,2,3]')))
    read(reader, bytewise(Buffer.from('[9,9,9]')))
    if (first.kind !== 'frame') throw new Error(first.kind)
    expect(Buffer.concat(first.frame.parts).toString()).toBe('[1,2,3]')
  })

  it('reports the id of a message over the limit', () => {
    const outcome = read(new FrameReader(20), bytewise(Buffer.from(ANSWER)))
    expect(outcome).toMatchObject({ kind: 'oversized', bytes: Buffer.byteLength(ANSWER), envelope: { numericId: 7 } })
  })

  it('accepts a message of exactly the limit', () => {
    expect(read(new FrameReader(Buffer.byteLength(ANSWER)), [Buffer.from(ANSWER)]).kind).toBe('frame')
  })

  it.each([
    ['in one piece', (bytes: Buffer) => [bytes]],
    ['byte by byte', bytewise],
  ])('refuses invalid UTF-8, %s', (_how, cut) => {
    const bytes = Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xc3, 0x28]), Buffer.from('"}')])
    expect(read(new FrameReader(1_000), cut(bytes))).toMatchObject({ kind: 'garbage', reason: 'not UTF-8' })
  })

  it('shows the beginning of invalid JSON, with escaped control characters', () => {
    const outcome = read(new FrameReader(10_000), bytewise(Buffer.from(`Listening \u001b[31m${'x'.repeat(500)}`)))
    if (outcome.kind !== 'garbage') throw new Error(outcome.kind)
    expect(outcome.sample).toMatch(/^Listening \\u001b\[31mx+$/)
    expect(outcome.sample.length).toBeLessThan(250)
  })

  it('treats a blank line as an empty one', () => {
    expect(read(new FrameReader(100), [Buffer.from(' \t ')]).kind).toBe('empty')
  })

  it('is ready for the next message after every outcome', () => {
    const reader = new FrameReader(60)
    const kinds = ['garbage!', `"${'x'.repeat(100)}"`, '', '{"id":1}'].map(
      (text) => read(reader, [Buffer.from(text)]).kind,
    )
    expect(kinds).toEqual(['garbage', 'oversized', 'empty', 'frame'])
  })
})
