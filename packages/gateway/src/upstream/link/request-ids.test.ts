import { describe, expect, it } from 'vitest'
import { promise } from '../../../../../tests/promises.ts'
import { createRequestIds } from './request-ids.ts'

describe(`request ids (${promise('GW-20')})`, () => {
  it('are integers that JSON represents exactly, spread over 48 bits', () => {
    const next = createRequestIds()
    const ids = Array.from({ length: 5_000 }, next)
    expect(ids.every((id) => Number.isSafeInteger(id) && id >= 0 && id < 2 ** 48)).toBe(true)
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids.some((id) => id > 2 ** 47)).toBe(true)
    expect(ids.some((id) => id < 2 ** 47)).toBe(true)
  })

  it('differ between links', () => {
    const [one, other] = [createRequestIds(), createRequestIds()]
    expect(one()).not.toBe(other())
  })
})
