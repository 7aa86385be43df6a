import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { describeResult, type Envelope } from './envelope.ts'
import { JsonScanner } from './json-scanner.ts'
import { isJsonObject, type Json, type JsonObject } from './json-value.ts'
import { stripReservedMeta } from './reserved-meta.ts'

function scan(text: string, cuts: readonly number[] = []): Envelope {
  const bytes = new TextEncoder().encode(text)
  const scanner = new JsonScanner()
  let from = 0
  for (const cut of [...cuts].map((at) => at % (bytes.length + 1)).sort((a, b) => a - b)) {
    scanner.feed(bytes.subarray(from, cut))
    from = cut
  }
  scanner.feed(bytes.subarray(from))
  const envelope = scanner.end()
  if (!envelope) throw new Error(scanner.failure)
  return envelope
}

const SERVER_INFO = 'io.modelcontextprotocol/serverInfo'
const key = fc.constantFrom(
  ...['_meta', 'sallyport/error', 'sallyport/', 'sallyport', 'a', 'content', 'resource', 'structuredContent'],
  ...[SERVER_INFO, 'type', 'data', 'text', 'isError', 'contents', 'messages', 'resultType', 'inputRequests'],
)
/** Values with the relevant keys at every depth. */
const value = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5, depthSize: 'small' },
    fc.constantFrom<Json>(null, true, 1, 'x', 'sallyport/x', 'text'),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(key, tie('value'), { maxKeys: 4, noNullPrototype: true }) as fc.Arbitrary<Json>,
  ),
})).value
const result = fc.dictionary(key, value, { maxKeys: 6, noNullPrototype: true }) as fc.Arbitrary<JsonObject>

/** Prints JSON with randomly escaped letters in keys and strings. */
function printEscaped(json: Json, dice: () => boolean): string {
  return JSON.stringify(json).replace(/[a-z/_]/gi, (char, at: number, all: string) => {
    if (!isInText(all, at) || !dice()) return char
    return char === '/' && dice() ? '\\/' : `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}

const isInText = (all: string, at: number): boolean => (all.slice(0, at).match(/"/g) ?? []).length % 2 === 1

/** Counts the gateway's keys in the parsed value: the scanner must find the same number in the bytes. */
function ownKeysIn(json: Json | undefined, context: 'object' | 'meta' | 'error'): number {
  if (Array.isArray(json))
    return json.reduce<number>((sum, item) => sum + ownKeysIn(item, context === 'error' ? context : 'object'), 0)
  if (!isJsonObject(json)) return 0
  let found = 0
  for (const [name, inner] of Object.entries(json)) {
    const isOwn = name.startsWith('sallyport/') || (context === 'meta' && name === SERVER_INFO)
    if (isOwn && context !== 'object') found++
    else if (name === 'structuredContent') continue
    else
      found += ownKeysIn(
        inner,
        name === '_meta' && isJsonObject(inner) ? 'meta' : context === 'error' ? 'error' : 'object',
      )
  }
  return found
}

describe(`keys of \`_meta\` that belong to the gateway (${promise('GW-17')})`, () => {
  it('are found in every result, however it is split and escaped', () => {
    fc.assert(
      fc.property(
        result,
        fc.array(fc.nat(2_000), { maxLength: 4 }),
        fc.infiniteStream(fc.boolean()),
        (json, cuts, dice) => {
          const text = `{"jsonrpc":"2.0","id":1,"result":${printEscaped(json, () => dice.next().value)}}`
          const { reservedMembers = [], serverInfo } = scan(text, cuts)
          expect(reservedMembers.length + (serverInfo ? 1 : 0)).toBe(ownKeysIn(json, 'object'))
          for (const { start, end } of reservedMembers) JSON.parse(`{${Buffer.from(text).subarray(start, end)}}`)
        },
      ),
      { numRuns: 3_000 },
    )
  })

  it('are found in an error at any depth', () => {
    const text = '{"id":1,"error":{"code":1,"message":"no","data":{"a":[{"\\u0073allyport\\/error":{"x":1},"b":2}]}}}'
    expect(scan(text).reservedMembers).toHaveLength(1)
  })

  it('are removed from a parsed value, and data is preserved', () => {
    fc.assert(
      fc.property(result, (json) => {
        const clean = stripReservedMeta(json)
        expect(ownKeysIn(clean, 'object')).toBe(0)
        if (ownKeysIn(json, 'object') === 0) expect(clean).toBe(json)
        expect(clean.structuredContent).toEqual(json.structuredContent)
      }),
    )
  })
})

describe(`the shape of a result (${promise('GW-17')})`, () => {
  it('is the same whether it was scanned or parsed', () => {
    fc.assert(
      fc.property(result, fc.array(fc.nat(2_000), { maxLength: 4 }), (json, cuts) => {
        expect(scan(`{"result":${JSON.stringify(json)}}`, cuts).shape).toBe(describeResult(json))
      }),
      { numRuns: 3_000 },
    )
  })
})
