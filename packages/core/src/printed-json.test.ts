import { describe, expect, it } from 'vitest'
import type { JsonObject } from './json.ts'
import { keepPrinted, printJson } from './printed-json.ts'

describe('an object whose text is kept', () => {
  it('is printed as that text', () => {
    const value: JsonObject = { a: [1, { b: 'ü' }] }
    keepPrinted(value, '{"a": [1, {"b": "ü"}]}')
    expect(printJson(value)).toBe('{"a": [1, {"b": "ü"}]}')
  })

  it('can be changed by nobody, however deep', () => {
    const inner = { b: 'ü' }
    const value: JsonObject = { a: [1, inner] }
    keepPrinted(value, JSON.stringify(value))
    for (const part of [value, value.a as object, inner])
      expect(() => Object.assign(part, { 0: 'other' })).toThrow(TypeError)
  })

  it('says nothing of another that is alike', () => {
    keepPrinted({ a: 1 }, 'kept')
    expect(printJson({ a: 1 })).toBe('{"a":1}')
  })
})
