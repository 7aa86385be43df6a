import { isJsonObject, type Json, type JsonObject, JsonScanner, stripReservedMeta } from '@sallyport/core'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../../tests/promises.ts'
import { cleanAnswer } from './clean-answer.ts'
import { scanFrame } from './redact-frame.ts'

const key = fc.constantFrom(
  ...['_meta', 'sallyport/a', 'sallyport/b', 'x', 'y', 'content', 'isError', 'structuredContent'],
)
const value = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    fc.constantFrom<Json>(null, 1, 'sallyport/x', '},{,'),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(key, tie('value'), { maxKeys: 5, noNullPrototype: true }) as fc.Arbitrary<Json>,
  ),
})).value
const result = fc.dictionary(key, value, { maxKeys: 5, noNullPrototype: true }) as fc.Arbitrary<JsonObject>

/** Members that the protocol knows, none of which may be null. */
const NEVER_NULL = ['_meta', 'content', 'isError', 'structuredContent']
const withoutNulls = (json: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(json).filter(([name, member]) => member !== null || !NEVER_NULL.includes(name)))

/** The items have no known type, and only an object is structured content of the legacy era. */
function repaired(json: JsonObject): JsonObject {
  const { content, structuredContent } = json
  const isBare = structuredContent !== undefined && !isJsonObject(structuredContent)
  return {
    ...json,
    content: Array.isArray(content) ? content.map(standIn) : (content ?? []),
    ...(isBare && { structuredContent: { result: structuredContent } }),
  }
}

function standIn(item: Json, at: number): JsonObject {
  const demand = isJsonObject(item) ? '"type" must be a string' : 'it must be an object'
  return { type: 'text', text: `[The server "odd" sent an invalid content[${at}]: ${demand}.]` }
}

/** Cut anywhere, as it may arrive over a pipe. */
function frameFrom(text: string, cuts: readonly number[]) {
  const bytes = Buffer.from(text)
  const places = [0, ...cuts.map((at) => at % bytes.length).sort((a, b) => a - b), bytes.length]
  return scanFrame(places.slice(1).map((end, at) => bytes.subarray(places[at], end)))
}

function scan(bytes: Buffer) {
  const scanner = new JsonScanner()
  scanner.feed(bytes)
  return scanner.end()
}

describe(`an answer for a client (${promise('GW-17')})`, () => {
  it('is the same without members reserved for the gateway, and its recorded positions are still correct', () => {
    fc.assert(
      fc.property(result, fc.nat(2), fc.array(fc.nat(2_000), { maxLength: 3 }), (json, indent, cuts) => {
        const text = JSON.stringify({ jsonrpc: '2.0', id: 7, result: json, more: 1 }, null, indent)
        const clean = cleanAnswer(frameFrom(text, cuts), { method: 'tools/call', era: 'legacy', server: 'odd' })
        const bytes = Buffer.concat(clean.parts)
        expect(JSON.parse(bytes.toString())).toEqual({
          ...{ jsonrpc: '2.0', id: 7, more: 1 },
          result: repaired(withoutNulls(stripReservedMeta(json))),
        })
        // Any other `content` is refused before.
        if (!json.content) expect(scan(bytes)?.resultMembers?.filter(({ key }) => key === 'content')).toHaveLength(1)
        const { shape: _, members: __, hasUnsafeNumber: ___, depth: ____, ...noted } = scan(bytes) ?? {}
        expect(clean.envelope).toMatchObject(noted)
      }),
      { numRuns: 1_000 },
    )
  })
})
