import { describe, expect, it } from 'vitest'
import { createIds } from './ids.ts'

describe('identifiers', () => {
  it('have the lengths that traces require, and are unique', () => {
    const ids = createIds()
    const seen = new Set<string>()
    for (let index = 0; index < 2_000; index++) {
      const [call, trace] = [ids.callId(), ids.traceId()]
      expect(call).toMatch(/^[0-9a-f]{16}$/)
      expect(trace).toMatch(/^[0-9a-f]{32}$/)
      seen.add(call).add(trace)
    }
    expect(seen.size).toBe(4_000)
  })
})
