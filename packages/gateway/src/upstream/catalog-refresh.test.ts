import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { CatalogRefresh } from './catalog-refresh.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0)
  vi.useRealTimers()
})

describe('refreshing changed lists', () => {
  it('happens once for many announcements', async () => {
    let refreshes = 0
    const refresh = new CatalogRefresh(async () => void refreshes++)
    for (let index = 0; index < 1_000; index++) refresh.schedule()
    await vi.advanceTimersByTimeAsync(1_000)
    expect(refreshes).toBe(1)
  })

  it('happens again for an announcement that comes during a refresh, and not at the same time', async () => {
    let running = 0
    let maxRunning = 0
    let refreshes = 0
    const refresh = new CatalogRefresh(async () => {
      refreshes++
      maxRunning = Math.max(maxRunning, ++running)
      await new Promise((resolve) => setTimeout(resolve, 1_000))
      running--
    })
    refresh.schedule()
    await vi.advanceTimersByTimeAsync(300)
    for (let index = 0; index < 5; index++) refresh.schedule()
    await vi.advanceTimersByTimeAsync(5_000)
    expect([refreshes, maxRunning]).toEqual([2, 1])
  })

  it('happens promptly for a few changes in a row, and less and less often for a server that never stops', async () => {
    const refreshes: number[] = []
    const began = performance.now()
    const refresh = new CatalogRefresh(async () => void refreshes.push(performance.now() - began))
    for (let second = 0; second < 60; second++) {
      refresh.schedule()
      await vi.advanceTimersByTimeAsync(1_000)
    }
    expect(refreshes.slice(0, 5)).toEqual([200, 1_200, 2_200, 3_200, 4_200])
    expect(refreshes.length).toBeLessThan(15)
    refresh.stop()
  })

  it('happens promptly again after a quiet period', async () => {
    let refreshes = 0
    const refresh = new CatalogRefresh(async () => void refreshes++)
    for (let change = 0; change < 200; change++) {
      refresh.schedule()
      await vi.advanceTimersByTimeAsync(100)
    }
    await vi.advanceTimersByTimeAsync(120_000)
    const before = refreshes
    refresh.schedule()
    await vi.advanceTimersByTimeAsync(200)
    expect(refreshes).toBe(before + 1)
  })

  it('does not happen after it was stopped', async () => {
    let refreshes = 0
    const refresh = new CatalogRefresh(async () => void refreshes++)
    refresh.schedule()
    refresh.stop()
    refresh.schedule()
    await vi.advanceTimersByTimeAsync(1_000)
    expect(refreshes).toBe(0)
  })
})
