import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compileSelection } from './selection.ts'

describe('a selection', () => {
  it('offers everything by default', () => {
    expect(compileSelection(undefined, [])('anything')).toBe(true)
  })

  it('offers nothing if the list of included tools is empty', () => {
    expect(compileSelection([], [])('anything')).toBe(false)
  })

  it('supports names and globs, and exclusion takes precedence', () => {
    const selects = compileSelection(['read_*', 'list'], ['*_secret'])
    expect(['read_file', 'read_secret', 'list', 'lists', 'write'].filter(selects)).toEqual(['read_file', 'list'])
  })

  it('treats names of inherited object properties as ordinary names', () => {
    expect(compileSelection(['__proto__'], [])('__proto__')).toBe(true)
    expect(compileSelection(['list'], [])('constructor')).toBe(false)
  })

  it('never offers more if more is excluded', () => {
    const name = fc.string({ unit: fc.constantFrom('a', 'b', '*'), maxLength: 3 })
    fc.assert(
      fc.property(fc.option(fc.array(name), { nil: undefined }), fc.array(name), name, (include, exclude, further) => {
        const before = compileSelection(include, exclude)
        const after = compileSelection(include, [...exclude, further])
        for (const tool of ['', 'a', 'b', 'ab', 'ba']) expect(after(tool) && !before(tool)).toBe(false)
      }),
    )
  })
})
