import { type Json, printJson } from '@sallyport/core'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RepeatedMeta } from './repeated-meta.ts'

const META = { 'io.modelcontextprotocol/clientInfo': { name: 'probe', version: '1' }, caps: {} }
const ENDING = `,"_meta":${JSON.stringify(META)}}}`
const message = (params: string): string => `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{${params}`
const MESSAGE = message(`"name":"add"${ENDING}`)

/** One that has met the ending as often as it takes to keep it. */
function knowing(...texts: readonly string[]): RepeatedMeta {
  const repeated = new RepeatedMeta()
  for (const text of texts.flatMap((each) => [each, each])) repeated.note(text, JSON.parse(text) as Json)
  return repeated
}

const paramsIn = (repeated: RepeatedMeta, text: string): { readonly _meta: typeof META } =>
  (repeated.read(text) as unknown as { readonly params: { readonly _meta: typeof META } }).params

describe('a _meta that comes again', () => {
  it('is read as if for the first time, and is the same object each time', () => {
    const repeated = knowing(MESSAGE)
    const other = message(`"name":"sub","arguments":{"a":[1,{"b":"_meta"}]}${ENDING}`)
    expect(repeated.read(MESSAGE)).toEqual(JSON.parse(MESSAGE))
    expect(repeated.read(other)).toEqual(JSON.parse(other))
    expect(Object.keys(paramsIn(repeated, other))).toEqual(['name', 'arguments', '_meta'])
    expect(paramsIn(repeated, other)._meta).toBe(paramsIn(repeated, MESSAGE)._meta)
  })

  it('is not kept before it comes a second time in a row', () => {
    const repeated = new RepeatedMeta()
    repeated.note(MESSAGE, JSON.parse(MESSAGE))
    repeated.note(message(`"name":"add","_meta":{"progressToken":1}}}`), {})
    repeated.note(MESSAGE, JSON.parse(MESSAGE))
    expect(repeated.read(MESSAGE)).toBeUndefined()
  })

  it('cannot be changed by whoever gets it, and is printed as it came', () => {
    const { _meta } = paramsIn(knowing(MESSAGE), MESSAGE)
    expect(() => Object.assign(_meta.caps, { more: true })).toThrow(TypeError)
    expect(printJson(_meta)).toBe(JSON.stringify(META))
  })

  it.each([
    ['a key twice in the parameters', message(`"name":"add","name":"sub"${ENDING}`)],
    ['another _meta before it', message(`"name":"add","_meta":{"caps":1}${ENDING}`)],
    ['a number that JSON does not keep exact', message(`"name":12345678901234567890${ENDING}`)],
    ['blanks', message(`"name": "add"${ENDING}`)],
    ['no parameter before it', message(ENDING)],
    ['the ending within another member', `{"jsonrpc":"2.0","params":{"name":"add"},"x":{"y":1${ENDING}`],
    ['the ending in a list', `{"jsonrpc":"2.0","params":[{"y":1${ENDING}`],
    ['parameters that are no object', `{"jsonrpc":"2.0","params":["name"${ENDING}`],
    ['the ending within a text', message(`"name":"add${ENDING}`)],
    ['a message that is nested too deeply', message(`"name":${'['.repeat(300)}${']'.repeat(300)}${ENDING}`)],
  ])('is not taken with %s', (_what, text) => {
    expect(knowing(MESSAGE).read(text)).toBeUndefined()
  })

  it('keeps those of several kinds of client, and makes room for new ones', () => {
    const texts = Array.from({ length: 9 }, (_, kind) => message(`"name":"add","_meta":{"kind":${kind}}}}`))
    const repeated = knowing(...texts)
    expect(texts.map((text) => repeated.read(text) !== undefined)).toEqual([false, ...Array(8).fill(true)])
  })

  it('never gives anything but what the whole text says, whatever stands before it', () => {
    const pieces = fc.constantFrom('{', '}', '[', ']', ',', ':', '"', '\\', '"params"', '"_meta"', '"name"', '1', '1e3')
    const head = fc.oneof(
      fc.array(pieces).map((parts) => parts.join('')),
      fc.jsonValue().map((value) => `{"params":{"a":${JSON.stringify(value)}`),
      fc.dictionary(fc.string(), fc.jsonValue()).map((params) => `{"params":${JSON.stringify(params).slice(0, -1)}`),
    )
    const repeated = knowing(MESSAGE)
    fc.assert(
      fc.property(head, (before) => {
        const text = before + ENDING
        const read = repeated.read(text)
        if (read === undefined) return
        expect(read).toEqual(JSON.parse(text))
        expect(JSON.stringify(read)).toBe(text)
      }),
      { numRuns: 2_000 },
    )
  })
})
