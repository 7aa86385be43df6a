import { type Json, printJson } from '@sallyport/core'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MetaCache } from './meta-cache.ts'

const META = { 'io.modelcontextprotocol/clientInfo': { name: 'probe', version: '1' }, caps: {} }
const KNOWN = `"_meta":${JSON.stringify(META)}`
const message = (params: string): string => `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{${params}}}`
const MESSAGE = message(`"name":"add",${KNOWN}`)

/** One that has met each of them as often as it takes to know them. */
function knowing(...texts: readonly string[]): MetaCache {
  const repeated = new MetaCache()
  for (const text of texts.flatMap((each) => [each, each])) repeated.remember(JSON.parse(text) as Json)
  return repeated
}

const paramsIn = (repeated: MetaCache, text: string): { readonly _meta: typeof META } =>
  (repeated.read(text) as unknown as { readonly params: { readonly _meta: typeof META } }).params

describe('a _meta that comes again', () => {
  it.each([
    ['last, as some print it', message(`"name":"sub","arguments":{"a":[1,{"b":"_meta"}]},${KNOWN}`)],
    ['in the middle, as the SDKs do', `{"method":"m","params":{"name":"x",${KNOWN}},"jsonrpc":"2.0","id":"7"}`],
    ['before the rest', message(`${KNOWN},"name":"add"`)],
    ['alone', message(KNOWN)],
  ])('is read %s, as if for the first time', (_where, text) => {
    const repeated = knowing(MESSAGE)
    expect(repeated.read(text)).toEqual(JSON.parse(text))
    expect(JSON.stringify(repeated.read(text))).toBe(text)
    expect(paramsIn(repeated, text)._meta).toBe(paramsIn(repeated, MESSAGE)._meta)
  })

  it('is not kept before it comes a second time in a row, nor one that is long or has a token', () => {
    const repeated = new MetaCache()
    const long = message(`"name":"add","_meta":{"note":"${'x'.repeat(3_000)}"}`)
    const followed = message('"name":"add","_meta":{"progressToken":1}')
    for (const text of [MESSAGE, message('"_meta":{"kind":1}'), MESSAGE, long, long, followed, followed])
      repeated.remember(JSON.parse(text) as Json)
    for (const text of [MESSAGE, long, followed]) expect(repeated.read(text)).toBeUndefined()
  })

  it('cannot be changed by whoever gets it, and is printed as it came', () => {
    const { _meta } = paramsIn(knowing(MESSAGE), MESSAGE)
    expect(() => Object.assign(_meta.caps, { more: true })).toThrow(TypeError)
    expect(printJson(_meta)).toBe(JSON.stringify(META))
  })

  it.each([
    ['a key twice in the parameters', message(`"name":"add","name":"sub",${KNOWN}`)],
    ['another _meta behind it', message(`"name":"add",${KNOWN},"_meta":{"caps":1}`)],
    ['the same again behind it', message(`${KNOWN},${KNOWN}`)],
    ['a number that JSON does not keep exact', message(`"name":12345678901234567890,${KNOWN}`)],
    ['blanks', message(`"name": "add",${KNOWN}`)],
    ['nothing between it and the rest', message(`${KNOWN}"name":"add"`)],
    ['its place in an argument', message(`"arguments":{${KNOWN}},"_meta":{"caps":1}`)],
    ['its place in another member', `{"x":{${KNOWN}},"params":{"name":"add"}}`],
    ['its place in a list', `{"params":[{${KNOWN}}]}`],
    ['its place in a text', message(`"name":"add,${KNOWN}`)],
    ['its place in a text that is quoted', message(`"name":${JSON.stringify(`{${KNOWN}}`)}`)],
    ['no message around it', `{${KNOWN}}`],
    ['a message that is nested too deeply', message(`"name":${'['.repeat(300)}${']'.repeat(300)},${KNOWN}`)],
    ['more of it than is known', message(`"name":"add","_meta":{"caps":{},"more":1}`)],
  ])('is not taken with %s', (_what, text) => {
    expect(knowing(MESSAGE).read(text)).toBeUndefined()
  })

  it('keeps those of several kinds of client, and makes room for new ones', () => {
    const texts = Array.from({ length: 9 }, (_, kind) => message(`"name":"add","_meta":{"kind":${kind}}`))
    const repeated = knowing(...texts)
    expect(texts.map((text) => repeated.read(text) !== undefined)).toEqual([false, ...Array(8).fill(true)])
  })

  it('takes no second place where it comes with an argument of its name', () => {
    const others = Array.from({ length: 7 }, (_, kind) => message(`"name":"add","_meta":{"kind":${kind}}`))
    const repeated = knowing(MESSAGE, ...others)
    const hiding = message(`"arguments":{"_meta":1},${KNOWN}`)
    for (let time = 0; time < 20; time++) repeated.remember(JSON.parse(hiding) as Json)
    for (const text of [MESSAGE, ...others]) expect(repeated.read(text)).toBeDefined()
  })

  it('never gives anything but what the whole text says, whatever stands around it', () => {
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
