import { describe, expect, it } from 'vitest'
import { ShortLivedMap } from './short-lived-map.ts'

const entry = (id: number) => ({ id })

describe('a map of short-lived entries', () => {
  it('finds each by its key until it is deleted', () => {
    const table = new ShortLivedMap<number, { id: number }>()
    const entries = [5, 2 ** 47, 7].map(entry)
    for (const each of entries) table.set(each.id, each)
    table.delete(2 ** 47)
    expect([5, 2 ** 47, 7].map((id) => table.get(id))).toEqual([entries[0], undefined, entries[2]])
    expect([table.has(2 ** 47), table.size]).toEqual([false, 2])
    table.delete(2 ** 47)
    const later = entry(9)
    table.set(9, later)
    expect(table.get(9)).toBe(later)
    expect(table.get(5)).toBe(entries[0])
    expect(table.values().map(({ id }) => id)).toEqual([5, 9, 7])
  })

  it('has one entry for a key that is set twice', () => {
    const table = new ShortLivedMap<string, { id: number }>()
    table.set('a', entry(1))
    table.set('a', entry(2))
    expect(table.values()).toEqual([{ id: 2 }])
  })

  it('allows deletion during iteration', () => {
    const table = new ShortLivedMap<number, { id: number }>()
    for (const id of [1, 2, 3]) table.set(id, entry(id))
    const seen: number[] = []
    for (const { id } of table.values()) {
      seen.push(id)
      table.delete(id)
    }
    expect(seen).toEqual([1, 2, 3])
    expect(table.values()).toEqual([])
  })
})
