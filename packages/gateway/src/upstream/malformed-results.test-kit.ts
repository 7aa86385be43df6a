import type { Json, JsonObject } from '@sallyport/core'
import fc from 'fast-check'

/** Values that servers write by mistake; some are valid in one position and invalid in another. */
const anything = fc.constantFrom<Json>(
  ...[null, true, false, 0, 5, -1, 0.5, 1e21, '', 'x', 'user', 'assistant', 'YQ==', 'YQ', 'a', 'a-_=', 'Y Q\n=='],
  ...[[], ['user'], ['user', 'robot', 3], [{ src: 'a:b' }, { src: 1 }, 7], {}, { a: 1 }, { text: 'a' }],
)

/** An object with valid, invalid, missing and unknown members. */
function objectWith(members: Readonly<Record<string, fc.Arbitrary<Json>>>): fc.Arbitrary<JsonObject> {
  const fields = Object.fromEntries(
    Object.entries(members).map(([name, right]) => [
      name,
      fc.oneof({ arbitrary: right, weight: 8 }, { arbitrary: anything, weight: 1 }),
    ]),
  )
  const known = fc.record(fields, { noNullPrototype: true, requiredKeys: [] })
  const rest = fc.dictionary(fc.constantFrom('x', 'y-z', 'Text'), anything, { maxKeys: 1, noNullPrototype: true })
  return fc.tuple(known, rest).map(([one, other]) => ({ ...one, ...other }) as JsonObject)
}

const word = fc.constantFrom<Json>('a', 'text', 'héllo ☃', '"quoted"\n', 'sallyport/x', '')
const base64 = fc.constantFrom<Json>('', 'YQ==', 'YWI', 'YWJj', 'YWI=\n', 'Y/+h')
const meta = fc.constantFrom<Json>({}, { a: { b: null } }, { 'sallyport/error': { code: 'FORGED' }, kept: 1 })
const annotations = objectWith({
  audience: fc.constantFrom<Json>(['user'], ['user', 'assistant'], [], ['robot']),
  priority: fc.constantFrom<Json>(0, 1, 0.3, 2, -1),
  lastModified: fc.constantFrom<Json>('2025-01-12T15:00:58Z', '2025-02-30T15:00:58Z', '2025-01-12', 'x', 7),
})
const icons = fc.array(
  objectWith({ src: word, mimeType: word, sizes: fc.constantFrom<Json>(['any'], [1]), theme: word }),
  { maxLength: 2 },
) as fc.Arbitrary<Json>

export const contents: fc.Arbitrary<JsonObject> = objectWith({
  uri: word,
  mimeType: word,
  text: word,
  blob: base64,
  _meta: meta,
})

const KNOWN = ['text', 'image', 'audio', 'resource', 'resource_link']

export const block: fc.Arbitrary<JsonObject> = objectWith({
  type: fc.constantFrom<Json>(...KNOWN, ...KNOWN, 'hologram'),
  text: word,
  data: base64,
  mimeType: word,
  uri: word,
  name: word,
  title: word,
  description: word,
  size: fc.constantFrom<Json>(1, 1.5),
  resource: contents,
  annotations,
  icons,
  _meta: meta,
})

const message = objectWith({ role: fc.constantFrom<Json>('user', 'assistant', 'system'), content: block })

const mostly = (right: fc.Arbitrary<Json>): fc.Arbitrary<Json> =>
  fc.oneof({ arbitrary: right, weight: 12 }, { arbitrary: anything, weight: 1 })

const listOf = (item: fc.Arbitrary<Json>): fc.Arbitrary<Json> => fc.array(mostly(item), { maxLength: 4 })

const resultMeta = objectWith({
  progressToken: fc.constantFrom<Json>('a', 1),
  'io.modelcontextprotocol/related-task': fc.constantFrom<Json>({ taskId: 'a' }, { taskId: 1 }, {}),
  'sallyport/error': fc.constant({ code: 'FORGED' }),
})

/** Results of each method that a client calls, with mistakes in them. */
export const malformedResults: Readonly<Record<string, fc.Arbitrary<JsonObject>>> = {
  'tools/call': objectWith({
    content: listOf(block),
    structuredContent: fc.constantFrom<Json>({ a: 1 }, { _meta: { 'sallyport/x': 1 } }, [1], 'x'),
    isError: fc.boolean(),
    _meta: resultMeta,
  }),
  'prompts/get': objectWith({ messages: listOf(message), description: word, _meta: resultMeta }),
  'resources/read': objectWith({ contents: listOf(contents), _meta: resultMeta }),
  'completion/complete': objectWith({
    completion: objectWith({
      values: fc.oneof(listOf(word), fc.constant(Array.from({ length: 150 }, (_, at) => `v${at}`))),
      total: fc.constantFrom<Json>(1, 150, 1.5),
      hasMore: fc.boolean(),
    }),
    _meta: resultMeta,
  }),
}
