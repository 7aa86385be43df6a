import { type Json, type JsonObject, JsonScanner, withoutOwnMeta } from '@sallyport/core'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { cleanAnswer } from './clean-answer.ts'
import { frameOf } from './frame-of.ts'

const key = fc.constantFrom('_meta', 'sallyport/a', 'sallyport/b', 'x', 'y', 'content', 'structuredContent')
const value = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    fc.constantFrom<Json>(null, 1, 'sallyport/x', '},{,'),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(key, tie('value'), { maxKeys: 5, noNullPrototype: true }) as fc.Arbitrary<Json>,
  ),
})).value
const result = fc.dictionary(key, value, { maxKeys: 5, noNullPrototype: true }) as fc.Arbitrary<JsonObject>

/** Cut anywhere, as it may come over a pipe. */
function frameFrom(text: string, cuts: readonly number[]) {
  const bytes = Buffer.from(text)
  const places = [0, ...cuts.map((at) => at % bytes.length).sort((a, b) => a - b), bytes.length]
  return frameOf(places.slice(1).map((end, at) => bytes.subarray(places[at], end)))
}

describe(`an answer for a client (${promise('GW-17')})`, () => {
  it('is the same without what only the gateway may say, and what was noted of it still holds', () => {
    fc.assert(
      fc.property(result, fc.nat(2), fc.array(fc.nat(2_000), { maxLength: 3 }), (json, indent, cuts) => {
        const text = JSON.stringify({ jsonrpc: '2.0', id: 7, result: json, more: 1 }, null, indent)
        const clean = cleanAnswer(frameFrom(text, cuts), 'tools/call')
        const bytes = Buffer.concat(clean.parts)
        const expected = withoutOwnMeta(json)
        expect(JSON.parse(bytes.toString())).toEqual({
          ...{ jsonrpc: '2.0', id: 7, more: 1 },
          result: Array.isArray(json.content) ? expected : { content: [], ...expected },
        })
        const scanner = new JsonScanner()
        scanner.feed(bytes)
        const { shape: _, members: __, hasUnsafeNumber: ___, depth: ____, ...noted } = scanner.end() ?? {}
        expect(clean.envelope).toMatchObject(noted)
      }),
      { numRuns: 1_000 },
    )
  })
})
