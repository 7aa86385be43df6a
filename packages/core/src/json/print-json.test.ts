import { describe, expect, it } from 'vitest'
import type { JsonObject } from './json-value.ts'
import { cachePrinted, prettyPrintJson, printJson } from './print-json.ts'

describe('an object whose text is cached', () => {
  it('is printed as that text', () => {
    const value: JsonObject = { a: [1, { b: 'ü' }] }
    cachePrinted(value, '{"a": [1, {"b": "ü"}]}')
    expect(printJson(value)).toBe('{"a": [1, {"b": "ü"}]}')
  })

  it('is frozen at every depth', () => {
    const inner = { b: 'ü' }
    const value: JsonObject = { a: [1, inner] }
    cachePrinted(value, JSON.stringify(value))
    for (const part of [value, value.a as object, inner])
      expect(() => Object.assign(part, { 0: 'other' })).toThrow(TypeError)
  })

  it('does not affect an equal object', () => {
    cachePrinted({ a: 1 }, 'kept')
    expect(printJson({ a: 1 })).toBe('{"a":1}')
  })
})

describe('a pretty-printed value', () => {
  it('has a line for each member', () => {
    expect(prettyPrintJson({ a: 1, b: [2] })).toBe('{\n  "a": 1,\n  "b": [\n    2\n  ]\n}')
  })

  it('is not indented if it is nested too deep', () => {
    const text = `${'['.repeat(1_000)}${']'.repeat(1_000)}`
    expect(prettyPrintJson(JSON.parse(text))).toBe(text)
  })
})
