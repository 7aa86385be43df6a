import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type Indexed, InFlightCalls } from './in-flight-calls.ts'

it('contains what was added and not deleted, in any order of operations', () => {
  const step = fc.record({ id: fc.nat(20), deletes: fc.boolean() })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const table = new InFlightCalls<Indexed>()
      const model = new Map<number, Indexed>()
      for (const { id, deletes } of steps) {
        const known = model.get(id)
        if (deletes && known) {
          table.delete(known)
          table.delete(known)
          model.delete(id)
        } else if (!deletes && !known) {
          const call = { id, index: -1 }
          table.add(call)
          model.set(id, call)
        }
        expect(table.find(id)).toBe(model.get(id))
      }
      expect(new Set(table.filter(() => true))).toEqual(new Set(model.values()))
      expect(table.clear()).toHaveLength(model.size)
      expect(table.clear()).toEqual([])
    }),
  )
})
