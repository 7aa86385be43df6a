import { type Json, printJson } from '@sallyport/core'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MetaCache } from './meta-cache.ts'

const META = { 'io.modelcontextprotocol/clientInfo': { name: 'probe', version: '1' }, caps: {} }
const KNOWN = `"_meta":${JSON.stringify(META)}`
const message = (params: string): string => `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{${params}}}`
const MESSAGE = message(`"name":"add",${KNOWN}`)

/** A cache that has read each of them often enough to store it. */
function knowing(...texts: readonly string[]): MetaCache {
  const repeated = new MetaCache()
  for (const text of texts.flatMap((each) => [each, each])) repeated.remember(JSON.parse(text) as Json)
  return repeated
}

const paramsIn = (repeated: MetaCache, text: string): { readonly _meta: typeof META } =>
  (repeated.read(text) as unknown as { readonly params: { readonly _meta: typeof META } }).params

describe('a repeated _meta', () => {
  it.each([
    ['last, as some print it', message(`"name":"sub","arguments":{"a":[1,{"b":"_meta"}]},${KNOWN}`)],
    ['in the middle, as the SDKs do', `{"method":"m","params":{"name":"x",${KNOWN}},"jsonrpc":"2.0","id":"7"}`],
    ['first', message(`${KNOWN},"name":"add"`)],
    ['alone', message(KNOWN)],
  ])('that comes %s is read as if for the first time', (_where, text) => {
    const repeated = knowing(MESSAGE)
    expect(repeated.read(text)).toEqual(JSON.parse(text))
    expect(JSON.stringify(repeated.read(text))).toBe(text)
    expect(paramsIn(repeated, text)._meta).toBe(paramsIn(repeated, MESSAGE)._meta)
  })

  it('is cached only if it comes twice in a row, and not if it is long or has a token', () => {
    const repeated = new MetaCache()
    const long = message(`"name":"add","_meta":{"note":"${'x'.repeat(3_000)}"}`)
    const followed = message('"name":"add","_meta":{"progressToken":1}')
    for (const text of [MESSAGE, message('"_meta":{"kind":1}'), MESSAGE, long, long, followed, followed])
      repeated.remember(JSON.parse(text) as Json)
    for (const text of [MESSAGE, long, followed]) expect(repeated.read(text)).toBeUndefined()
  })

  it('cannot be changed by its users, and is printed unchanged', () => {
    const { _meta } = paramsIn(knowing(MESSAGE), MESSAGE)
    expect(() => Object.assign(_meta.caps, { more: true })).toThrow(TypeError)
    expect(printJson(_meta)).toBe(JSON.stringify(META))
  })

  it.each([
    ['a key twice in the parameters', message(`"name":"add","name":"sub",${KNOWN}`)],
    ['another _meta after it', message(`"name":"add",${KNOWN},"_meta":{"caps":1}`)],
    ['the same _meta after it', message(`${KNOWN},${KNOWN}`)],
    ['a number that JSON does not represent exactly', message(`"name":12345678901234567890,${KNOWN}`)],
    ['spaces', message(`"name": "add",${KNOWN}`)],
    ['no comma after it', message(`${KNOWN}"name":"add"`)],
    ['its text in an argument', message(`"arguments":{${KNOWN}},"_meta":{"caps":1}`)],
    ['its text in another member', `{"x":{${KNOWN}},"params":{"name":"add"}}`],
    ['its text in a list', `{"params":[{${KNOWN}}]}`],
    ['its text in a string', message(`"name":"add,${KNOWN}`)],
    ['its text in a quoted string', message(`"name":${JSON.stringify(`{${KNOWN}}`)}`)],
    ['no message around it', `{${KNOWN}}`],
    ['a message that is nested too deeply', message(`"name":${'['.repeat(300)}${']'.repeat(300)},${KNOWN}`)],
    ['more members than the cached one', message(`"name":"add","_meta":{"caps":{},"more":1}`)],
  ])('is not taken from the cache with %s', (_what, text) => {
    expect(knowing(MESSAGE).read(text)).toBeUndefined()
  })

  it('is cached for several kinds of clients, and the oldest is replaced', () => {
    const texts = Array.from({ length: 9 }, (_, kind) => message(`"name":"add","_meta":{"kind":${kind}}`))
    const repeated = knowing(...texts)
    expect(texts.map((text) => repeated.read(text) !== undefined)).toEqual([false, ...Array(8).fill(true)])
  })

  it('is not cached twice if an argument has the same name', () => {
    const others = Array.from({ length: 7 }, (_, kind) => message(`"name":"add","_meta":{"kind":${kind}}`))
    const repeated = knowing(MESSAGE, ...others)
    const hiding = message(`"arguments":{"_meta":1},${KNOWN}`)
    for (let time = 0; time < 20; time++) repeated.remember(JSON.parse(hiding) as Json)
    for (const text of [MESSAGE, ...others]) expect(repeated.read(text)).toBeDefined()
  })

  it('is always read like the whole text, whatever surrounds it', () => {
    const pieces = fc.constantFrom('{', '}', '[', ']', ',', ':', '"', '\\', '"params"', KNOWN, '"name"', '1', '1e3')
    const params = fc.dictionary(fc.string(), fc.jsonValue()).map((given) => JSON.stringify(given).slice(1, -1))
    const texts = fc.oneof(
      fc.array(pieces).map((parts) => parts.join('')),
      fc.tuple(params, params).map(([before, behind]) => message(`${before},${KNOWN}${behind && `,${behind}`}`)),
      fc.jsonValue().map((value) => `{"params":{"a":${JSON.stringify(value)},${KNOWN}},"id":1}`),
    )
    const repeated = knowing(MESSAGE)
    fc.assert(
      fc.property(texts, (text) => {
        const read = repeated.read(text)
        if (read === undefined) return
        expect(read).toEqual(JSON.parse(text))
        expect(JSON.stringify(read)).toBe(text)
      }),
      { numRuns: 2_000 },
    )
  })
})
