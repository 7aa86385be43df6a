import type { ConnectionOpening } from '@sallyport/core'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  clientHello,
  ECH,
  extension,
  helloMessage,
  nameEntry,
  record,
  recordClientHello,
  serverNames,
  vector,
} from './client-hello.test-kit.ts'
import { OpeningReader } from './opening-reader.ts'

const INVALID = { kind: 'invalid TLS' }
const OTHER = { kind: 'other' }

/** What the reader says after the last byte that it needs, however the bytes are cut. */
function read(bytes: Buffer, cuts: readonly number[] = []): ConnectionOpening | undefined {
  const reader = new OpeningReader()
  const borders = [...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort((one, other) => one - other)
  let from = 0
  for (const to of borders) {
    const opening = reader.read(bytes.subarray(from, to))
    if (opening) return opening
    from = to
  }
  return undefined
}

describe('the ClientHello of Node', () => {
  it('names its host, wherever its packets are cut', async () => {
    const hello = await recordClientHello('Api.Test')
    const expected = { kind: 'TLS', serverName: 'api.test', isNameEncrypted: false }
    for (let cut = 0; cut <= hello.length; cut++) expect(read(hello, [cut])).toEqual(expected)
    fc.assert(
      fc.property(fc.array(fc.nat(hello.length)), (cuts) => {
        expect(read(hello, cuts)).toEqual(expected)
      }),
    )
    expect(read(hello.subarray(0, -1))).toBeUndefined()
  })

  it('names its host in any number of records', async () => {
    const hello = await recordClientHello('api.test')
    const message = hello.subarray(5)
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1 }), fc.array(fc.nat()), (sizes, cuts) => {
        const records: Buffer[] = []
        for (let at = 0, next = 0; at < message.length; next++) {
          const size = sizes[next % sizes.length] ?? 1
          records.push(record(message.subarray(at, at + size)))
          at += size
        }
        expect(read(Buffer.concat(records), cuts)).toMatchObject({ serverName: 'api.test' })
      }),
    )
  })

  it('may have no name', async () => {
    expect(read(await recordClientHello(undefined))).toMatchObject({ kind: 'TLS', serverName: undefined })
  })
})

describe('a ClientHello', () => {
  it('is read with what follows it', () => {
    const hello = clientHello(serverNames(nameEntry('a.test')))
    expect(read(Buffer.concat([hello, Buffer.alloc(70_000, 22)]))).toMatchObject({ serverName: 'a.test' })
    const withMore = record(Buffer.concat([helloMessage(serverNames(nameEntry('a.test'))), Buffer.alloc(16_000)]))
    expect(read(withMore)).toMatchObject({ serverName: 'a.test' })
  })

  it('may be encrypted, behind a name of its own', () => {
    expect(read(clientHello(ECH, serverNames(nameEntry('front.test'))))).toEqual({
      kind: 'TLS',
      serverName: 'front.test',
      isNameEncrypted: true,
    })
  })

  it('is compared without a dot at the end and in lower case', () => {
    expect(read(clientHello(serverNames(nameEntry('A.Test.'))))).toMatchObject({ serverName: 'a.test' })
    expect(read(clientHello(serverNames(nameEntry('a.test\0.b'))))).toMatchObject({ serverName: 'a.test\0.b' })
  })

  it('may have no extensions', () => {
    const message = helloMessage()
    const bare = Buffer.concat([Buffer.from([1]), vector(3, message.subarray(4, -2))])
    expect(read(record(bare))).toMatchObject({ kind: 'TLS', serverName: undefined })
  })

  it.each<[string, Buffer]>([
    ['names two hosts', clientHello(serverNames(nameEntry('a.test'), nameEntry('b.test')))],
    ['has two lists of names', clientHello(serverNames(nameEntry('a.test')), serverNames(nameEntry('b.test')))],
    ['has a name of another type', clientHello(serverNames(nameEntry('a.test', 1)))],
    ['has an empty name', clientHello(serverNames(nameEntry('')))],
    ['has an empty list', clientHello(serverNames())],
    ['has a list that ends early', clientHello(extension(0, Buffer.from([0, 9, 0, 0, 1, 97])))],
    [
      'has bytes after its list',
      clientHello(extension(0, Buffer.concat([vector(2, nameEntry('a')), Buffer.alloc(1)]))),
    ],
    ['has an extension that ends early', clientHello(Buffer.from([0, 0, 0, 9, 1]))],
    ['has bytes after its extensions', record(Buffer.concat([Buffer.from([1, 0, 0, 60]), Buffer.alloc(60)]))],
    ['is too short', record(Buffer.from([1, 0, 0, 2, 3, 3]))],
    ['is too long', record(Buffer.from([1, 1, 0, 0]))],
    ['is another message', record(Buffer.from([2, 0, 0, 1, 1]))],
    ['begins with an empty record', record(Buffer.alloc(0))],
    ['continues in an alert', Buffer.concat([record(helloMessage().subarray(0, 9)), record(Buffer.alloc(9), 21)])],
    ['has a record that is too long', Buffer.from([22, 3, 1, 0xff, 0xff, 1])],
  ])('that %s is not valid', (_, bytes) => {
    expect(read(bytes)).toEqual(INVALID)
    expect(read(bytes, [...bytes.keys()].slice(0, 300))).toEqual(INVALID)
  })
})

it.each<[string, Buffer]>([
  ['a request', Buffer.from('GET / HTTP/1.1\r\n')],
  ['the ClientHello of SSL 2.0', Buffer.from([0x80, 0x2e, 1, 3, 1])],
  ['other bytes that begin like a record', Buffer.from([22, 9])],
  ['the start of PostgreSQL', Buffer.from([0, 0, 0, 8, 4, 0xd2, 0x16, 0x2f])],
])('%s is not TLS', (_, bytes) => {
  expect(read(bytes)).toEqual(OTHER)
})

it('no bytes make it throw', () => {
  const hello = clientHello(serverNames(nameEntry('a.test')), ECH)
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(hello.length - 1), fc.nat(255)), { maxLength: 4 }),
      fc.array(fc.nat()),
      (changes, cuts) => {
        const bytes = Buffer.from(hello)
        for (const [at, value] of changes) bytes[at] = value
        expect(read(bytes, cuts)).toEqual(read(bytes))
      },
    ),
  )
})
