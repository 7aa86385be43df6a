import { request } from 'node:http'
import { Duplex } from 'node:stream'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ResponseHead } from './response-head.ts'
import { ResponseReader } from './response-reader.ts'

interface ReadResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
}

interface Reading {
  readonly response: ReadResponse | undefined
  readonly isClean: boolean
  readonly error: string | undefined
}

/** The response in these pieces; `ends`: the connection ends after them. */
function read(pieces: readonly Buffer[], ends = true): Reading {
  const reader = new ResponseReader()
  let head: ResponseHead | undefined
  let body = ''
  let isClean: boolean | undefined
  reader.begin({
    onHead: (message) => {
      expect(head).toBeUndefined()
      head = message
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
    return { response: undefined, isClean: false, error: (error as Error).message }
  }
  if (!head || isClean === undefined) return { response: undefined, isClean: false, error: undefined }
  return { response: { status: head.status, headers: { ...head.headers }, body }, isClean, error: undefined }
}

/** How node:http reads the same bytes. */
function byNode(bytes: Buffer): Promise<ReadResponse | undefined> {
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
    ['with a length', response(['Content-Length: 3'], 'abc'), 'abc'],
    ['without a body', response(['Content-Length: 0']), ''],
    ['whose status allows no body', response([], '', 'HTTP/1.1 204 No Content'), ''],
    [
      'in chunks',
      response(['Transfer-Encoding: chunked'], '3\r\nabc\r\n2;x="y"\r\nde\r\n0\r\nTrailer: 1\r\n\r\n'),
      'abcde',
    ],
    ['without a reason', response(['content-length:1'], 'a', 'HTTP/1.1 200'), 'a'],
    [
      'after informational responses',
      response([], '', 'HTTP/1.1 100 Continue') +
        response([], '', 'HTTP/1.1 103 Early Hints') +
        response(['Content-Length: 1'], 'a'),
      'a',
    ],
  ])('%s is read in any pieces', (_what, text, body) => {
    for (let at = 1; at <= text.length; at++)
      expect(read([bytesOf(text.slice(0, at)), bytesOf(text.slice(at))], false).response?.body).toBe(body)
    expect(read([...text].map(bytesOf), false)).toMatchObject({ response: { body }, isClean: true })
  })

  it('may have chunk sizes with leading zeros', () => {
    const text = response(['Transfer-Encoding: chunked'], '0000000000000003\r\nabc\r\n000000000000\r\n\r\n')
    expect(read([bytesOf(text)])).toMatchObject({ response: { body: 'abc' }, isClean: true })
  })

  it('may repeat a header as often as its head has space, and all values are preserved', () => {
    const text = response([...Array.from({ length: 10_000 }, (_, at) => `x:${at % 10}`), 'Content-Length: 0'])
    const found = read([bytesOf(text)]).response?.headers.x as string[]
    expect(found.slice(9_998)).toEqual(['8', '9'])
  })

  it('without a length lasts as long as its connection', () => {
    const text = response(['Content-Type: text/plain'], 'abc')
    expect(read([bytesOf(text)], false).response).toBeUndefined()
    expect(read([bytesOf(text)]).response?.body).toBe('abc')
  })

  it('that is cut off does not end normally', () => {
    for (const text of [
      response(['Content-Length: 4'], 'abc'),
      response(['Transfer-Encoding: chunked'], '3\r\nabc\r\n'),
      response(['Transfer-Encoding: chunked'], '3\r\nabc\r\n0\r\n'),
      'HTTP/1.1 200 OK\r\ncontent-le',
      '',
    ])
      expect(read([bytesOf(text)])).toEqual({ response: undefined, isClean: false, error: undefined })
  })

  it('followed by extra bytes reports that', () => {
    const text = response(['Content-Length: 3'], 'abc')
    expect(read([bytesOf(text + text)])).toMatchObject({ response: { body: 'abc' }, isClean: false })
    expect(read([bytesOf(`${response(['Transfer-Encoding: chunked'], '0\r\n\r\n')}x`)]).isClean).toBe(false)
  })

  it.each([
    ['something else', 'SSH-2.0-OpenSSH_9.2\r\n'],
    ['another version', response(['Content-Length: 0'], '', 'HTTP/2 200')],
    ['a change of protocol', response([], '', 'HTTP/1.1 101 Switching Protocols')],
    ['two lengths', response(['Content-Length: 3', 'Content-Length: 3'], 'abc')],
    ['an invalid length', response(['Content-Length: 3a'], 'abc')],
    ['a negative number', response(['Content-Length: -3'], 'abc')],
    ['a length and chunks', response(['Content-Length: 3', 'Transfer-Encoding: chunked'], '0\r\n\r\n')],
    ['a folded line', response(['X-A: 1', ' 2', 'Content-Length: 0'])],
    ['a NUL', response(['X-A: \0', 'Content-Length: 0'])],
    ['a bare line feed', response(['X-A: 1\nX-B: 2', 'Content-Length: 0'])],
    ['LF line ends', 'HTTP/1.1 200 OK\ncontent-length: 0\n\n'],
    ['mixed line ends', 'HTTP/1.1 200 OK\r\ncontent-length: 0\n\n'],
    ['LF line ends with a CRLF at the end', 'HTTP/1.1 200 OK\ncontent-length: 0\n\r\n'],
    ['CR line ends', 'HTTP/1.1 200 OK\rcontent-length: 0\r\r'],
    ['chunks with LF line ends', response(['Transfer-Encoding: chunked'], '3\nabc\n0\n\n')],
    ['trailers with LF line ends', response(['Transfer-Encoding: chunked'], '0\r\na: b\n\n')],
    ['a chunk that is too long', response(['Transfer-Encoding: chunked'], '2\r\nabc\r\n0\r\n\r\n')],
    ['an invalid chunk size', response(['Transfer-Encoding: chunked'], 'xyz\r\n')],
    ['an endless chunk size', response(['Transfer-Encoding: chunked'], `1;${'a'.repeat(10_000)}`)],
    ['endless trailers', response(['Transfer-Encoding: chunked'], `0\r\nx: ${'a'.repeat(20_000)}`)],
    ['endless short trailers', response(['Transfer-Encoding: chunked'], `0\r\n${'x: y\r\n'.repeat(5_000)}`)],
    ['an endless head', `HTTP/1.1 200 OK\r\nx: ${'a'.repeat(70_000)}`],
  ])('with %s is rejected', (_what, text) => {
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

  const cut = (bytes: Buffer, offsets: readonly number[]): Buffer[] => {
    const ends = [...offsets.filter((offset) => offset < bytes.length).sort((a, b) => a - b), bytes.length]
    return ends.map((end, at) => bytes.subarray(at === 0 ? 0 : ends[at - 1], end)).filter(({ length }) => length > 0)
  }

  it('is read as node:http reads the same bytes, in any pieces', async () => {
    await fc.assert(
      fc.asyncProperty(responses, cuts, async (message, offsets) => {
        const bytes = bytesOf(message)
        expect(read(cut(bytes, offsets)).response).toEqual(await byNode(bytes))
      }),
      { numRuns: Number(process.env.READER_RUNS ?? 300) },
    )
  })

  it('with a changed byte is rejected, or read as node:http reads it', async () => {
    const change = fc.tuple(fc.nat(120), fc.integer({ min: 0, max: 255 }))
    await fc.assert(
      fc.asyncProperty(responses, cuts, change, async (message, offsets, [at, byte]) => {
        const bytes = bytesOf(message)
        bytes[at % bytes.length] = byte
        const { response, isClean } = read(cut(bytes, offsets))
        // With extra bytes after it, its connection is closed, as node does.
        if (response && isClean) expect(response).toEqual(await byNode(bytes))
      }),
      { numRuns: Number(process.env.READER_RUNS ?? 300) },
    )
  })
})
