import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Envelope } from './envelope.ts'
import { JsonScanner } from './json-scanner.ts'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

function scan(text: string, cuts: readonly number[] = []): Envelope | string {
  const all = bytes(text)
  const scanner = new JsonScanner()
  let from = 0
  for (const cut of [...cuts].sort((a, b) => a - b)) {
    const at = Math.min(cut, all.length)
    scanner.feed(all.subarray(from, at))
    from = Math.max(from, at)
  }
  scanner.feed(all.subarray(from))
  return scanner.end() ?? scanner.failure ?? 'no reason'
}

function accepts(text: string): boolean {
  return typeof scan(text) !== 'string'
}

function parses(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

describe('what the scanner accepts as JSON', () => {
  it('is what JSON.parse accepts, for every value, however it is split', () => {
    fc.assert(
      fc.property(fc.json(), fc.array(fc.nat(200)), (text, cuts) => {
        expect(typeof scan(text, cuts)).toBe('object')
      }),
    )
  })

  it('is what JSON.parse accepts, for texts with one changed character', () => {
    const damaged = fc
      .tuple(fc.json(), fc.nat(), fc.constantFrom(...'{}[]",:\\ \n\t0-1.eEtfnu/x\u0001'))
      .map(([text, at, char]) => {
        const place = at % (text.length + 1)
        return text.slice(0, place) + char + text.slice(place + 1)
      })
    fc.assert(
      fc.property(damaged, (text) => {
        const sameKeyTwice = typeof scan(text) === 'string' && String(scan(text)).includes('stands twice')
        expect(accepts(text) || sameKeyTwice).toBe(parses(text))
      }),
      { numRuns: 2_000 },
    )
  })

  it.each([
    '',
    ' ',
    '{',
    '[1,]',
    '{"a":1,}',
    '{"a"}',
    '{a:1}',
    "{'a':1}",
    '01',
    '1.',
    '.5',
    '+1',
    'NaN',
    'tru',
    '"\\x"',
    '"\\u12g4"',
    '"a\nb"',
    '[1] 2',
    ']',
    '{"a":1]',
    '[1}',
    '1 2',
  ])('is not %j', (text) => {
    expect(accepts(text)).toBe(false)
    expect(parses(text)).toBe(false)
  })

  it('is what JSON.parse accepts, for literals and numbers with one changed character', () => {
    const words = fc.constantFrom('true', 'false', 'null', '-0.5e+7', '120', '0', '-1.25', '123456789012345678901')
    const changes = fc.tuple(words, fc.nat(21), fc.constantFrom('', ...'truefalsn0-1.E+'))
    fc.assert(
      fc.property(changes, fc.array(fc.nat(40)), ([word, at, char], cuts) => {
        const place = at % (word.length + 1)
        const text = `{"a":[{"b":[${word.slice(0, place) + char + word.slice(place + 1)},1]}]}`
        expect(typeof scan(text, cuts) === 'object').toBe(parses(text))
      }),
      { numRuns: 2_000 },
    )
  })

  it('is nested at most 128 levels deep', () => {
    expect(accepts('['.repeat(128) + ']'.repeat(128))).toBe(true)
    expect(scan('['.repeat(129) + ']'.repeat(129))).toMatch(/nested deeper than 128/)
  })
})

describe('the envelope', () => {
  it('is found for any order of its members and any text around them', () => {
    const text = ' {"result" : {"isError":true,"content":[{"id":7,"isError":false}]},\r\n"jsonrpc":"2.0", "id" :  42 } '
    const envelope = scan(text) as Envelope
    expect(envelope).toMatchObject({ numericId: 42, isError: true, hasMethod: false, hasLineBreaks: true })
    expect(text.slice(envelope.id?.start, envelope.id?.end)).toBe('42')
    expect(JSON.parse(text.slice(envelope.result?.start, envelope.result?.end))).toMatchObject({ isError: true })
  })

  it('is the same however the text is split', () => {
    const text = '{"jsonrpc":"2.0","id":"a\\u0062c","result":{"resultType":"complete","x":"\\"id\\":1"}}'
    const whole = scan(text)
    expect(whole).toMatchObject({ stringId: 'abc', resultType: 'complete' })
    fc.assert(
      fc.property(fc.array(fc.nat(text.length)), (cuts) => {
        expect(scan(text, cuts)).toEqual(whole)
      }),
    )
  })

  it('has the positions of the result members, however the text is split', () => {
    const keys = fc.constantFrom('content', 'resultType', '_meta', 'isError', 'a"b', 'result')
    fc.assert(
      fc.property(
        fc.dictionary(keys, fc.jsonValue()),
        fc.constantFrom(undefined, 1),
        fc.array(fc.nat(300)),
        (result, space, cuts) => {
          const text = JSON.stringify({ error: { a: 1 }, result, id: [{ b: 2 }] }, null, space)
          const members = (scan(text, cuts) as Envelope).resultMembers ?? []
          const at = (from: number, to: number): unknown => JSON.parse(Buffer.from(text).toString('utf8', from, to))
          const found = members.map(({ key, start, value, end }) => [
            key,
            at(start, start + JSON.stringify(key).length),
            at(value, end),
          ])
          expect(found).toEqual(
            Object.entries(JSON.parse(JSON.stringify(result))).map(([key, value]) => [key, key, value]),
          )
        },
      ),
    )
  })

  it('does not list the result members if there are too many, or if the result is not an object', () => {
    const many = (count: number): string => Array.from({ length: count }, (_, at) => `"${at}":0`).join()
    expect((scan(`{"result":{${many(32)}}}`) as Envelope).resultMembers).toHaveLength(32)
    expect((scan(`{"result":{${many(33)}}}`) as Envelope).resultMembers).toBeUndefined()
    expect((scan(`{"result":[{"a":1}],"params":{"b":1}}`) as Envelope).resultMembers).toEqual([])
    expect((scan(`[{"result":1}]`) as Envelope).resultMembers).toEqual([])
  })

  it('is not searched for inside strings, nested values or arrays', () => {
    expect(scan('{"a":{"id":1,"method":"x","result":{}},"b":"\\"id\\":2"}')).toMatchObject({
      id: undefined,
      hasMethod: false,
      result: undefined,
    })
    expect(scan('[{"id":1}]')).toMatchObject({ id: undefined, numericId: undefined })
  })

  it('ignores isError outside the result', () => {
    expect(scan('{"id":1,"result":{"structuredContent":{"isError":true}}}')).toMatchObject({ isError: false })
    expect(scan('{"id":1,"error":{"isError":true}}')).toMatchObject({ isError: false })
    expect(scan('{"id":1,"result":{"\\u0069sError":true}}')).toMatchObject({ isError: true })
  })

  it('refuses a duplicate member', () => {
    expect(scan('{"id":1,"id":2}')).toMatch(/"id" occurs twice/)
    expect(scan('{"id":1,"\\u0069d":2}')).toMatch(/"id" occurs twice/)
  })

  it('counts all members, so that duplicate keys can be detected at any depth', () => {
    expect(scan('{"a":{"b":1,"b":2},"c":[{"d":1}]}')).toMatchObject({ members: 5 })
  })

  it('reports numbers that double precision would change', () => {
    for (const text of ['[9007199254740993]', '[1e999]', '{"a":-12345678901234567890}'])
      expect(scan(text)).toMatchObject({ hasUnsafeNumber: true })
    for (const text of [
      '[9007199254740991]',
      '[1e10]',
      '[0.1234567890123456789]',
      '["12345678901234567890"]',
      '[true,false,null]',
    ]) {
      expect(scan(text)).toMatchObject({ hasUnsafeNumber: false })
    }
  })
})
