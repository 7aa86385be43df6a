import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isJson } from './is-json.ts'
import { addMembers, findMember, removeMember } from './json-edit.ts'
import { findJsonValue, formatPointer, readPointer, rootSpan } from './json-path.ts'
import { isJsonObject, type Json, type JsonObject } from './json-value.ts'
import { listMembers } from './json-walk.ts'

const indents = fc.constantFrom(undefined, 1, 2, '\t')
const objects = fc.dictionary(fc.oneof(fc.string(), fc.constantFrom('"', '\\', '\\"', '__proto__')), fc.jsonValue())

describe('the members of JSON text', () => {
  it('are those of the value, each at its position', () => {
    fc.assert(
      fc.property(fc.jsonValue(), indents, (value, indent) => {
        const text = ` ${JSON.stringify(value, undefined, indent)}\n`
        const found = [...listMembers(text, 1)].map(({ key, value: start, end }) => [key, text.slice(start, end)])
        const parsed = JSON.parse(text) as Json
        const entries = typeof parsed === 'object' && parsed !== null ? Object.entries(parsed) : []
        expect(found.map(([, source]) => JSON.parse(source as string))).toEqual(entries.map(([, member]) => member))
        if (isJsonObject(parsed)) expect(found.map(([key]) => key).sort()).toEqual(Object.keys(parsed).sort())
      }),
    )
  })

  it('are found by their pointer', () => {
    fc.assert(
      fc.property(objects, indents, (value, indent) => {
        const text = JSON.stringify(value, undefined, indent)
        for (const [key, member] of Object.entries(JSON.parse(text) as JsonObject)) {
          const found = findJsonValue(text, readPointer(formatPointer([key])))
          expect('problem' in found ? found : JSON.parse(text.slice(found.start, found.end))).toEqual(member)
        }
      }),
    )
  })
})

describe('an edit of JSON text', () => {
  it('adds a member whose removal restores the text', () => {
    fc.assert(
      fc.property(objects, indents, fc.jsonValue(), (value, indent, added) => {
        const text = JSON.stringify(value, undefined, indent)
        const edited = addMembers(text, rootSpan(text), { members: [{ key: 'a new key', value: added as Json }] })
        const member = findMember(edited, 0, (key) => key === 'a new key')
        if (member === undefined) throw new Error(edited)
        expect(isJson(edited)).toBe(true)
        expect(removeMember(edited, rootSpan(edited), member)).toBe(text)
      }),
    )
  })

  it.each([
    ['[1]', '[1,0]'],
    ['[]', '[0]'],
    ['[\n  1,\n  2\n]', '[\n  1,\n  2,\n  0\n]'],
    ['[ 1 ]', '[ 1, 0 ]'],
  ])('adds an item to %j in the same format', (text, edited) => {
    expect(addMembers(text, rootSpan(text), { members: [{ value: 0 }] })).toBe(edited)
  })

  it('uses the last of two members with the same key, as every parser does', () => {
    const text = '{"a": 1, "b": 2, "a": 3}'
    const member = findMember(text, 0, (key) => key === 'a')
    expect(member && text.slice(member.value, member.end)).toBe('3')
  })
})
