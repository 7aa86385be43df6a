import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { promise } from '../../../tests/promises.ts'
import { toJson } from './to-json.ts'

class Point {
  readonly x = 1
  readonly #secret = 2
  get sum(): number {
    return this.x + this.#secret
  }
}

class Hidden {
  readonly #rows = [1]
  get rows(): readonly number[] {
    return this.#rows
  }
}

describe(promise('KIT-18'), () => {
  test('JSON stays unchanged', () => {
    fc.assert(
      fc.property(fc.jsonValue({ depthSize: 'large' }), (value) => {
        expect(JSON.stringify(toJson(value))).toBe(JSON.stringify(value))
      }),
    )
  })

  test('a name with a meaning in JavaScript is an ordinary member', () => {
    const given = JSON.parse('{"__proto__":{"a":1},"constructor":2,"toString":3}')
    expect(JSON.stringify(toJson(given))).toBe(JSON.stringify(given))
  })

  test.each<[string, unknown, unknown]>([
    ['a Date', new Date(0), '1970-01-01T00:00:00.000Z'],
    ['a URL', new URL('http://a.example/'), 'http://a.example/'],
    ['an instance with members', new Point(), { x: 1 }],
    ['an object without a class', Object.create(null, { a: { value: 1, enumerable: true } }), { a: 1 }],
    ['undefined members', { a: undefined, b: [undefined] }, { b: [null] }],
    ['numbers that JSON has not', [Number.NaN, Infinity, -0], [null, null, 0]],
    ['boxed values', [Object(1), Object('a'), Object(false)], [1, 'a', false]],
  ])('%s is converted like JSON does it', (_, value, expected) => {
    expect(toJson(value)).toStrictEqual(expected)
  })

  const cyclic: { self?: unknown } = {}
  cyclic.self = [cyclic]
  test.each<[string, unknown]>([
    ['Map', new Map([['a', 1]])],
    ['Set', new Set([1])],
    ['WeakMap', new WeakMap()],
    ['Buffer', Buffer.from('a')],
    ['Uint8Array', new Uint8Array(1)],
    ['Float64Array', new Float64Array(1)],
    ['ArrayBuffer', new ArrayBuffer(1)],
    ['DataView', new DataView(new ArrayBuffer(1))],
    ['generator', (function* () {})()],
    ['async generator', (async function* () {})()],
    ['stream', new ReadableStream()],
    ['Response', new Response('{}')],
    ['Headers', new Headers()],
    ['Promise', Promise.resolve(1)],
    ['Error', new Error('x')],
    ['RegExp', /x/],
    ['invalid Date', new Date(Number.NaN)],
    ['BigInt', 1n],
    ['function', () => 1],
    ['symbol', Symbol('x')],
    ['cycle', cyclic],
    ['instance without members', new Hidden()],
    ['object with members under symbols only', { [Symbol('x')]: 1 }],
    ['object with hidden members only', Object.defineProperty({}, 'x', { value: 1 })],
  ])('a %s is refused, alone and inside other values', (_, value) => {
    expect(() => toJson(value)).toThrow('which JSON cannot represent')
    expect(() => toJson({ rows: [{ value }] })).toThrow('which JSON cannot represent')
  })

  test('the error says where the value is, and what to do', () => {
    expect(() => toJson({ rows: [{}, { tags: new Map() }] })).toThrow(
      'A result holds an object of the class Map at rows[1].tags, which JSON cannot represent. Use [...it], or Object.fromEntries() for a Map.',
    )
  })

  test('values that are nested too deeply are refused, however deep', () => {
    let deep: unknown = 1
    for (let level = 0; level < 100_000; level++) deep = [deep]
    expect(() => toJson(deep)).toThrow('deeper than 500 levels')
  })
})
