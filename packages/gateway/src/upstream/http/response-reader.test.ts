import { request } from 'node:http'
import { Duplex } from 'node:stream'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ResponseHead } from './response-head.ts'
import { ResponseReader } from './response-reader.ts'

interface Heard {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
}

interface Reading {
  readonly heard: Heard | undefined
  readonly isClean: boolean
  readonly error: string | undefined
}

/** The response in these pieces; `ends`: the connection ends behind them. */
function read(pieces: readonly Buffer[], ends = true): Reading {
  const reader = new ResponseReader()
  let head: ResponseHead | undefined
  let body = ''
  let isClean: boolean | undefined
  reader.begin({
    onHead: (told) => {
      expect(head).toBeUndefined()
      head = told
    },
    onBody: (chunk) => {
      expect(chunk.length).toBeGreaterThan(0)
      body += chunk.toString('latin1')
    },
    onEnd: (clean) => {
      expect(isClean).toBeUndefined()
      isClean = clean
    },
  })
  try {
    for (const piece of pieces) {
      if (reader.isOver) isClean = false
      else reader.feed(piece)
    }
    if (ends && !reader.isOver) reader.finish()
  } catch (error) {
    return { heard: undefined, isClean: false, error: (error as Error).message }
  }
  if (!head || isClean === undefined) return { heard: undefined, isClean: false, error: undefined }
  return { heard: { status: head.status, headers: { ...head.headers }, body }, isClean, error: undefined }
}

/** What node:http makes of the same bytes. */
function byNode(bytes: Buffer): Promise<Heard | undefined> {
  return new Promise((resolve) => {
    const connection = new Duplex({ read: () => {}, write: (_chunk, _encoding, done) => done() })
    const asked = request({ createConnection: () => connection, host: 'x' }, (response) => {
      let body = ''
      response.on('data', (chunk: Buffer) => {
        body += chunk.toString('latin1')
      })
      response.on('error', () => resolve(undefined))
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: distinct(response.headersDistinct), body }),
      )
    })
    asked.on('error', () => resolve(undefined)).on('upgrade', () => resolve(undefined))
    asked.end()
    connection.push(bytes)
    connection.push(null)
  })
}

const distinct = (headers: NodeJS.Dict<string[]>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, values = []]) => [name, values.length > 1 ? values : values[0]]),
  )

const bytesOf = (text: string): Buffer => Buffer.from(text, 'latin1')

const response = (lines: readonly string[], body = '', first = 'HTTP/1.1 200 OK'): string =>
  `${[first, ...lines].join('\r\n')}\r\n\r\n${body}`

describe('a response', () => {
  it.each([
    ['of a length', response(['Content-Length: 3'], 'abc'), 'abc'],
    ['without a body', response(['Content-Length: 0']), ''],
    ['that has none by its status', response([], '', 'HTTP/1.1 204 No Content'), ''],
    [
      'in chunks',
      response(['Transfer-Encoding: chunked'], '3\r\nabc\r\n2;x="y"\r\nde\r\n0\r\nTrailer: 1\r\n\r\n'),
      'abcde',
    ],
    ['without a reason', response(['content-length:1'], 'a', 'HTTP/1.1 200'), 'a'],
    [
      'behind others that only announce it',
      response([], '', 'HTTP/1.1 100 Continue') +
        response([], '', 'HTTP/1.1 103 Early Hints') +
        response(['Content-Length: 1'], 'a'),
      'a',
    ],
  ])('%s is read in whatever pieces it comes', (_what, text, body) => {
    for (let at = 1; at <= text.length; at++)
      expect(read([bytesOf(text.slice(0, at)), bytesOf(text.slice(at))], false).heard?.body).toBe(body)
    expect(read([...text].map(bytesOf), false)).toMatchObject({ heard: { body }, isClean: true })
  })

  it('may fill the sizes of its chunks up with zeros', () => {
    const text = response(['Transfer-Encoding: chunked'], '0000000000000003\r\nabc\r\n000000000000\r\n\r\n')
    expect(read([bytesOf(text)])).toMatchObject({ heard: { body: 'abc' }, isClean: true })
  })

  it('may have a header as often as its head has room for it, and all of them are kept', () => {
    const text = response([...Array.from({ length: 10_000 }, (_, at) => `x:${at % 10}`), 'Content-Length: 0'])
    const found = read([bytesOf(text)]).heard?.headers.x as string[]
    expect(found.slice(9_998)).toEqual(['8', '9'])
  })

  it('that says nothing of its end lasts as long as its connection', () => {
    const text = response(['Content-Type: text/plain'], 'abc')
    expect(read([bytesOf(text)], false).heard).toBeUndefined()
    expect(read([bytesOf(text)]).heard?.body).toBe('abc')
  })

  it('that breaks off has no end', () => {
    for (const text of [
      response(['Content-Length: 4'], 'abc'),
      response(['Transfer-Encoding: chunked'], '3\r\nabc\r\n'),
      response(['Transfer-Encoding: chunked'], '3\r\nabc\r\n0\r\n'),
      'HTTP/1.1 200 OK\r\ncontent-le',
      '',
    ])
      expect(read([bytesOf(text)])).toEqual({ heard: undefined, isClean: false, error: undefined })
  })

  it('with something behind it says so', () => {
    const text = response(['Content-Length: 3'], 'abc')
    expect(read([bytesOf(text + text)])).toMatchObject({ heard: { body: 'abc' }, isClean: false })
    expect(read([bytesOf(`${response(['Transfer-Encoding: chunked'], '0\r\n\r\n')}x`)]).isClean).toBe(false)
  })

  it.each([
    ['something else', 'SSH-2.0-OpenSSH_9.2\r\n'],
    ['another version', response(['Content-Length: 0'], '', 'HTTP/2 200')],
    ['a change of protocol', response([], '', 'HTTP/1.1 101 Switching Protocols')],
    ['two lengths', response(['Content-Length: 3', 'Content-Length: 3'], 'abc')],
    ['no number', response(['Content-Length: 3a'], 'abc')],
    ['a negative number', response(['Content-Length: -3'], 'abc')],
    ['a length and chunks', response(['Content-Length: 3', 'Transfer-Encoding: chunked'], '0\r\n\r\n')],
    ['a folded line', response(['X-A: 1', ' 2', 'Content-Length: 0'])],
    ['a NUL', response(['X-A: \0', 'Content-Length: 0'])],
    ['a bare line feed', response(['X-A: 1\nX-B: 2', 'Content-Length: 0'])],
    ['lines of another system', 'HTTP/1.1 200 OK\ncontent-length: 0\n\n'],
    ['lines of two systems', 'HTTP/1.1 200 OK\r\ncontent-length: 0\n\n'],
    ['lines of one system with the end of another', 'HTTP/1.1 200 OK\ncontent-length: 0\n\r\n'],
    ['lines of a system of old', 'HTTP/1.1 200 OK\rcontent-length: 0\r\r'],
    ['chunks with lines of another system', response(['Transfer-Encoding: chunked'], '3\nabc\n0\n\n')],
    ['trailers with lines of another system', response(['Transfer-Encoding: chunked'], '0\r\na: b\n\n')],
    ['a chunk that is too long', response(['Transfer-Encoding: chunked'], '2\r\nabc\r\n0\r\n\r\n')],
    ['a size that is none', response(['Transfer-Encoding: chunked'], 'xyz\r\n')],
    ['a size without end', response(['Transfer-Encoding: chunked'], `1;${'a'.repeat(10_000)}`)],
    ['trailers without end', response(['Transfer-Encoding: chunked'], `0\r\nx: ${'a'.repeat(20_000)}`)],
    ['short trailers without end', response(['Transfer-Encoding: chunked'], `0\r\n${'x: y\r\n'.repeat(5_000)}`)],
    ['a head without end', `HTTP/1.1 200 OK\r\nx: ${'a'.repeat(70_000)}`],
  ])('that is %s is broken', (_what, text) => {
    expect(read([bytesOf(text)]).error).toMatch(/\w/)
  })

  const header = fc.constantFrom(
    'Content-Type: application/json',
    'X-A: 1',
    'x-a: 2',
    'Date: now',
    'X-Empty:',
    'X-Wide: \t a b \t',
    'Connection: close',
    'Keep-Alive: timeout=5',
    'X-Latin: \xfc',
  )
  const text = fc.string({ maxLength: 40, unit: 'binary-ascii' })
  const framed = fc.oneof(
    text.map((body) => ({ lines: [`Content-Length: ${body.length}`], body })),
    fc.array(text, { maxLength: 4 }).map((parts) => ({
      lines: ['Transfer-Encoding: chunked'],
      body: `${parts
        .filter((part) => part !== '')
        .map((part) => `${part.length.toString(16)}\r\n${part}\r\n`)
        .join('')}0\r\n\r\n`,
    })),
    text.map((body) => ({ lines: [], body })),
  )
  const first = fc.constantFrom(
    'HTTP/1.1 200 OK',
    'HTTP/1.1 202 Accepted',
    'HTTP/1.1 404 Not Found',
    'HTTP/1.0 200 OK',
    'HTTP/1.1 200 ',
  )
  const responses = fc
    .record({ first, lines: fc.array(header, { maxLength: 5 }), framed })
    .map(({ first: line, lines, framed: { lines: more, body } }) => response([...lines, ...more], body, line))
  const cuts = fc.array(fc.nat(300), { maxLength: 6 })

  const cut = (bytes: Buffer, places: readonly number[]): Buffer[] => {
    const ends = [...places.filter((place) => place < bytes.length).sort((a, b) => a - b), bytes.length]
    return ends.map((end, at) => bytes.subarray(at === 0 ? 0 : ends[at - 1], end)).filter(({ length }) => length > 0)
  }

  it('is what node:http reads in the same bytes, in whatever pieces they come', async () => {
    await fc.assert(
      fc.asyncProperty(responses, cuts, async (told, places) => {
        const bytes = bytesOf(told)
        expect(read(cut(bytes, places)).heard).toEqual(await byNode(bytes))
      }),
      { numRuns: Number(process.env.READER_RUNS ?? 300) },
    )
  })

  it('with a byte changed is broken, or what node:http reads in it', async () => {
    const change = fc.tuple(fc.nat(120), fc.integer({ min: 0, max: 255 }))
    await fc.assert(
      fc.asyncProperty(responses, cuts, change, async (told, places, [at, byte]) => {
        const bytes = bytesOf(told)
        bytes[at % bytes.length] = byte
        const { heard, isClean } = read(cut(bytes, places))
        // With something behind it, its connection is given up, as node does it.
        if (heard && isClean) expect(heard).toEqual(await byNode(bytes))
      }),
      { numRuns: Number(process.env.READER_RUNS ?? 300) },
    )
  })
})
