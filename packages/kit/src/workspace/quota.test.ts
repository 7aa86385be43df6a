import { expect, test } from 'vitest'
import { createQuota, type Usage } from './quota.ts'

const LIMITS = { fileBytes: 1_000, workspaceBytes: 1_000, entries: 10 }
const growth = (bytes: number): Usage => ({ bytes, entries: 1 })

/** A disk on which a file counts once its writer has finished. */
function createDisk() {
  let used: Usage = { bytes: 0, entries: 0 }
  const finishers: (() => void)[] = []
  const write = (bytes: number) => () =>
    new Promise<void>((resolve) => {
      finishers.push(() => {
        used = { bytes: used.bytes + bytes, entries: used.entries + 1 }
        resolve()
      })
    })
  const finishAll = (): void => {
    for (const finish of finishers.splice(0)) finish()
  }
  return { write, measure: async () => used, finishAll }
}

const begun = () => new Promise((resolve) => setImmediate(resolve))

test('a running write counts, although it cannot be measured yet', async () => {
  const disk = createDisk()
  const space = createQuota(LIMITS, disk.measure)
  const first = space.reserve(growth(600), disk.write(600))
  await begun()
  const second = space.reserve(growth(600), disk.write(600))
  await begun()
  disk.finishAll()
  await expect(second).rejects.toThrow('at most 1000')
  await first
  expect((await disk.measure()).bytes).toBe(600)
})

test('a measurement does not forget writes that began during it', async () => {
  const disk = createDisk()
  let answer: (usage: Usage) => void = () => undefined
  let rounds = 0
  const space = createQuota(LIMITS, () => {
    rounds++
    return rounds === 1 ? disk.measure() : new Promise((resolve) => (answer = resolve))
  })
  const running = space.reserve(growth(500), disk.write(500))
  await begun()
  // Does not fit: it waits for the first, and has the disk measured.
  const large = space.reserve(growth(900), disk.write(900))
  disk.finishAll()
  await running
  await begun()
  const small = space.reserve(growth(400), disk.write(400))
  await begun()
  answer(await disk.measure())
  await expect(large).rejects.toThrow('1800 bytes')
  disk.finishAll()
  await small
})

test('failed work uses no space', async () => {
  const disk = createDisk()
  const space = createQuota(LIMITS, disk.measure)
  const failing = space.reserve(growth(900), () => Promise.reject(new Error('the disk is full')))
  await expect(failing).rejects.toThrow('full')
  const next = space.reserve(growth(900), disk.write(900))
  await begun()
  disk.finishAll()
  await next
})
