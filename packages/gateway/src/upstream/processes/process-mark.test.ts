import { describe, expect, it } from 'vitest'
import { addMark, carriesMark, createMark } from './process-mark.ts'

describe('process marks', () => {
  it('match by whole parts', () => {
    expect(carriesMark('a.1.db.2', 'a.1')).toBe(true)
    expect(carriesMark('a.1.db.2', 'a.1.db.2')).toBe(true)
    expect(carriesMark('a.10.db.2', 'a.1')).toBe(false)
    expect(carriesMark('a.1.db.20', 'a.1.db.2')).toBe(false)
    expect(carriesMark('b.a.1', 'a.1')).toBe(false)
    expect(carriesMark('', 'a')).toBe(false)
  })

  it('of a gateway behind another gateway are both found', () => {
    const carried = addMark('outer.1.shell.1', 'inner.2.db.1')
    expect(carriesMark(carried, 'outer')).toBe(true)
    expect(carriesMark(carried, 'inner.2')).toBe(true)
    expect(carriesMark(carried, 'shell')).toBe(false)
  })

  it.each(['', 'a.b', 'a b', '$(x)', '*'])('cannot be made of %j', (part) => {
    expect(() => createMark('state', part)).toThrow(/not a valid part/)
  })
})
