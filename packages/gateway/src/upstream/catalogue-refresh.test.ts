import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { CatalogueRefresh } from './catalogue-refresh.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0)
  vi.useRealTimers()
})

describe('looking again at lists that changed', () => {
  it('happens once for many announcements', async () => {
    let looks = 0
    const refresh = new CatalogueRefresh(async () => void looks++)
    for (let index = 0; index < 1_000; index++) refresh.soon()
    await vi.advanceTimersByTimeAsync(1_000)
    expect(looks).toBe(1)
  })

  it('happens again for an announcement that comes while it looks, and not at the same time', async () => {
    let looking = 0
    let most = 0
    let looks = 0
    const refresh = new CatalogueRefresh(async () => {
      looks++
      most = Math.max(most, ++looking)
      await new Promise((resolve) => setTimeout(resolve, 1_000))
      looking--
    })
    refresh.soon()
    await vi.advanceTimersByTimeAsync(300)
    for (let index = 0; index < 5; index++) refresh.soon()
    await vi.advanceTimersByTimeAsync(5_000)
    expect([looks, most]).toEqual([2, 1])
  })

  it('does not happen once it was stopped', async () => {
    let looks = 0
    const refresh = new CatalogueRefresh(async () => void looks++)
    refresh.soon()
    refresh.stop()
    refresh.soon()
    await vi.advanceTimersByTimeAsync(1_000)
    expect(looks).toBe(0)
  })
})
