import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { CatalogRefresh } from './catalog-refresh.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0)
  vi.useRealTimers()
})

describe('looking again at lists that changed', () => {
  it('happens once for many announcements', async () => {
    let looks = 0
    const refresh = new CatalogRefresh(async () => void looks++)
    for (let index = 0; index < 1_000; index++) refresh.schedule()
    await vi.advanceTimersByTimeAsync(1_000)
    expect(looks).toBe(1)
  })

  it('happens again for an announcement that comes while it looks, and not at the same time', async () => {
    let looking = 0
    let most = 0
    let looks = 0
    const refresh = new CatalogRefresh(async () => {
      looks++
      most = Math.max(most, ++looking)
      await new Promise((resolve) => setTimeout(resolve, 1_000))
      looking--
    })
    refresh.schedule()
    await vi.advanceTimersByTimeAsync(300)
    for (let index = 0; index < 5; index++) refresh.schedule()
    await vi.advanceTimersByTimeAsync(5_000)
    expect([looks, most]).toEqual([2, 1])
  })

  it('happens at once for a few changes in a row, ever more seldom for a server that never rests', async () => {
    const looks: number[] = []
    const began = performance.now()
    const refresh = new CatalogRefresh(async () => void looks.push(performance.now() - began))
    for (let second = 0; second < 60; second++) {
      refresh.schedule()
      await vi.advanceTimersByTimeAsync(1_000)
    }
    expect(looks.slice(0, 5)).toEqual([200, 1_200, 2_200, 3_200, 4_200])
    expect(looks.length).toBeLessThan(15)
    refresh.stop()
  })

  it('happens at once again when the server has rested', async () => {
    let looks = 0
    const refresh = new CatalogRefresh(async () => void looks++)
    for (let change = 0; change < 200; change++) {
      refresh.schedule()
      await vi.advanceTimersByTimeAsync(100)
    }
    await vi.advanceTimersByTimeAsync(120_000)
    const before = looks
    refresh.schedule()
    await vi.advanceTimersByTimeAsync(200)
    expect(looks).toBe(before + 1)
  })

  it('does not happen once it was stopped', async () => {
    let looks = 0
    const refresh = new CatalogRefresh(async () => void looks++)
    refresh.schedule()
    refresh.stop()
    refresh.schedule()
    await vi.advanceTimersByTimeAsync(1_000)
    expect(looks).toBe(0)
  })
})
