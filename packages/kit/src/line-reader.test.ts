import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { LineReader } from './line-reader.ts'

function openReader(limit = 1_000) {
  const lines: string[] = []
  const reported = { oversized: 0, passed: '' }
  const reader = new LineReader({
    limit,
    onLine: (line) => lines.push(line.toString()),
    onOversized: () => void reported.oversized++,
    onPassed: (piece) => {
      reported.passed += piece.toString()
    },
  })
  return { reader, lines, reported }
}

describe('lines', () => {
  it('are the same, however the bytes are split into chunks', () => {
    const line = fc.string({ unit: 'grapheme' }).map((text) => text.replaceAll(/[\r\n]/g, ''))
    fc.assert(
      fc.property(fc.array(line), fc.integer({ min: 1, max: 5 }), fc.constantFrom('\n', '\r\n'), (texts, size, end) => {
        const { reader, lines } = openReader(100_000)
        const bytes = Buffer.from(texts.map((text) => text + end).join(''))
        for (let at = 0; at < bytes.length; at += size) reader.feed(bytes.subarray(at, at + size))
        expect(lines).toEqual(texts.filter((text) => text !== ''))
      }),
    )
  })

  it('that are too long are skipped and reported once; the next is read', () => {
    const { reader, lines, reported } = openReader(5)
    for (const part of ['123', '456', '789', '\nab', 'c\n123456\n12345\n']) reader.feed(Buffer.from(part))
    expect(lines).toEqual(['abc', '12345'])
    expect(reported).toEqual({ oversized: 2, passed: '123456789123456' })
  })

  it('that are incomplete can be inspected', () => {
    const { reader, lines } = openReader()
    reader.feed(Buffer.from('one\ntw'))
    reader.feed(Buffer.from('o'))
    expect(reader.unfinished.toString()).toBe('two')
    reader.feed(Buffer.from('\n'))
    expect(reader.unfinished).toHaveLength(0)
    expect(lines).toEqual(['one', 'two'])
  })
})
