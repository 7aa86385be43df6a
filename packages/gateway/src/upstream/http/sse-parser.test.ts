import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SseParser } from './sse-parser.ts'

interface Read {
  readonly events: { type: string; id: string | undefined; data: string }[]
  readonly pieces: number[]
  readonly lastEventId: string | undefined
  readonly retry: number | undefined
}

function read(chunks: readonly (string | Buffer)[], ending: 'end' | 'cut' = 'cut'): Read {
  let data: Buffer[] = []
  const pieces: number[] = []
  const events: Read['events'] = []
  const parser = new SseParser({
    onData: (piece) => {
      pieces.push(piece.length)
      data.push(piece)
    },
    onEvent: ({ type, id }) => {
      events.push({ type, id, data: Buffer.concat(data).toString() })
      data = []
    },
  })
  for (const chunk of chunks) parser.feed(Buffer.from(chunk))
  if (ending === 'end') parser.end()
  return { events, pieces, lastEventId: parser.lastEventId, retry: parser.retry }
}

const only = (text: string): readonly string[] => read([text]).events.map(({ data }) => data)

describe('the event stream parser', () => {
  it('reads type, id, retry and data', () => {
    const { events, retry } = read(['event: note\nid: 7\nretry: 250\ndata: hello\n\n'])
    expect(events).toEqual([{ type: 'note', id: '7', data: 'hello' }])
    expect(retry).toBe(250)
  })

  it('joins data lines with a line feed', () => {
    expect(only('data: a\ndata:\ndata: b\n\n')).toEqual(['a\n\nb'])
  })

  it('removes one space after the colon and no more', () => {
    expect(only('data:a\n\ndata: b\n\ndata:  c\n\n')).toEqual(['a', 'b', ' c'])
  })

  it('accepts LF, CR and CRLF as line ends', () => {
    expect(only('data: a\r\rdata: b\r\n\r\ndata: c\n\n')).toEqual(['a', 'b', 'c'])
  })

  it('treats CRLF as one line end, even if a chunk ends between the two', () => {
    expect(only('data: a\r\ndata: b\r\n\r\n')).toEqual(['a\nb'])
    expect(read(['data: a\r', '\ndata: b\r', '\n\r', '\n']).events.map(({ data }) => data)).toEqual(['a\nb'])
  })

  it('emits an event at its carriage return, without waiting for a line feed', () => {
    expect(only('data: a\r\r')).toEqual(['a'])
  })

  it('skips comments, unknown fields and very long field names', () => {
    expect(only(`: hi\nfoo: bar\n${'n'.repeat(100_000)}: x\ndatax: no\ndata: a\n\n`)).toEqual(['a'])
  })

  it('skips a byte order mark, and only at the beginning', () => {
    expect(only('\ufeffdata: a\n\n\ufeffdata: b\n\n')).toEqual(['a'])
    expect(only('\ufeff: comment\ndata: a\n\n')).toEqual(['a'])
  })

  it('treats a field without a colon as one with an empty value', () => {
    expect(only('data\n\n')).toEqual([''])
  })

  it('emits no event without a data line, but stores its id', () => {
    const { events, lastEventId } = read(['id: 3\n\nevent: x\n\ndata: a\n\n'])
    expect(events).toEqual([{ type: 'message', id: '3', data: 'a' }])
    expect(lastEventId).toBe('3')
  })

  it('does not store the id of an incomplete event', () => {
    expect(read(['id: 1\ndata: a\n\nid: 2\ndata: b\n']).lastEventId).toBe('1')
  })

  it('forgets the id when it is sent empty, too long, or with control characters', () => {
    for (const id of ['', 'x'.repeat(2_000), 'a\u0001b']) {
      expect(read([`id: 1\ndata: a\n\nid: ${id}\ndata: b\n\n`]).lastEventId).toBeUndefined()
    }
    expect(read(['id: 1\ndata: a\n\nid: a\0b\ndata: b\n\n']).lastEventId).toBe('1')
  })

  it('preserves the bytes of an id that is not ASCII', () => {
    expect(Buffer.from(read(['id: é\ndata: a\n\n']).lastEventId ?? '', 'latin1').toString()).toBe('é')
  })

  it('ignores a retry that is not an integer', () => {
    expect(read(['retry: 1.5\nretry: -1\nretry: 99999999999\nretry:\n\n']).retry).toBeUndefined()
  })

  it('emits a last event without its empty line only if the stream ended normally', () => {
    expect(read(['data: a\n']).events).toEqual([])
    expect(read(['data: a\n'], 'end').events).toHaveLength(1)
    expect(read(['data: a'], 'end').events).toHaveLength(1)
  })

  it('passes on a huge line as it arrives, without buffering it', () => {
    const block = Buffer.alloc(65_536, 'x')
    const { pieces, events } = read(['data: ', ...new Array<Buffer>(50).fill(block), '\n\n'])
    expect(pieces).toEqual(new Array(50).fill(65_536))
    expect(events[0]?.data.length).toBe(50 * 65_536)
  })

  it('passes on data as views of the chunk, not as copies', () => {
    const chunk = Buffer.from('data: hello\n\n')
    const seen: Buffer[] = []
    new SseParser({ onData: (piece) => seen.push(piece), onEvent: () => {} }).feed(chunk)
    expect(seen[0]?.buffer).toBe(chunk.buffer)
  })

  it('reads the same however the bytes are split', () => {
    const line = fc.constantFrom(
      'data: é€😀',
      'data',
      'data:',
      'id: 5',
      'id',
      'event: e',
      ': c',
      'retry: 9',
      'dat: x',
      '',
    )
    const ending = fc.constantFrom('\n', '\r', '\r\n')
    const stream = fc.array(fc.tuple(line, ending), { maxLength: 12 })
    fc.assert(
      fc.property(stream, fc.boolean(), fc.array(fc.nat(200)), (lines, withMark, cuts) => {
        const bytes = Buffer.from((withMark ? '\ufeff' : '') + lines.map((parts) => parts.join('')).join(''))
        const places = [0, ...cuts.filter((cut) => cut < bytes.length).sort((a, b) => a - b), bytes.length]
        const chunks = places.slice(1).map((end, index) => bytes.subarray(places[index], end))
        const { pieces: _whole, ...whole } = read([bytes], 'end')
        const { pieces: _cut, ...cut } = read(chunks, 'end')
        expect(cut).toEqual(whole)
      }),
      { numRuns: 1_000 },
    )
  })
})
