import { closeSync, fstatSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { GroupSync } from './group-sync.ts'
import { scratchFolder } from './scratch.test-kit.ts'

/** A disk whose syncs end when the test says so. */
function setUp(delay: number) {
  const folder = scratchFolder()
  const open = (name: string) => openSync(join(folder, name), 'a')
  const started: { readonly fd: number; readonly end: (error?: Error) => void }[] = []
  const waiting: (() => void)[] = []
  const failures: string[] = []
  const datasync = (fd: number) =>
    new Promise<void>((resolve, reject) => {
      started.push({ fd, end: (error) => (error === undefined ? resolve() : reject(error)) })
      for (const wake of waiting.splice(0)) wake()
    })
  const syncsStarted = async (count: number) => {
    while (started.length < count) await new Promise<void>((resolve) => waiting.push(resolve))
  }
  const fd = open('one')
  const sync = new GroupSync({ fd, delay, datasync, onFailure: () => failures.push('failed') })
  return { sync, fd, open, started, syncsStarted, failures }
}

const isOpen = (fd: number): boolean => {
  try {
    return fstatSync(fd).isFile()
  } catch {
    return false
  }
}

describe('a group sync', () => {
  test('serves many waiters with one sync, and those who wrote after it began with the next', async () => {
    const { sync, fd, started, syncsStarted } = setUp(60_000)
    onTestFinished(() => closeSync(fd))
    sync.markWritten()
    const early = Promise.all([sync.sync(), sync.sync(), sync.sync()])
    await syncsStarted(1)
    sync.markWritten()
    let lateDone = false
    const late = Promise.all([sync.sync(), sync.sync()]).then(() => {
      lateDone = true
    })
    started[0]?.end()
    await early
    await new Promise(setImmediate)
    expect(lateDone).toBe(false)
    await syncsStarted(2)
    started[1]?.end()
    await late
    await sync.sync()
    expect(started).toHaveLength(2)
  })

  test('happens automatically after a write', async () => {
    for (const delay of [0, 1]) {
      const { sync, fd, started, syncsStarted } = setUp(delay)
      onTestFinished(() => closeSync(fd))
      sync.markWritten()
      await syncsStarted(1)
      sync.markWritten()
      started[0]?.end()
      await syncsStarted(2)
      started[1]?.end()
      await sync.sync()
    }
  })

  test('syncs a retired file before it closes it', async () => {
    const { sync, fd, open, started, syncsStarted } = setUp(60_000)
    sync.markWritten()
    const first = sync.sync()
    await syncsStarted(1)
    const next = open('two')
    sync.moveTo(next)
    started[0]?.end()
    await first
    expect(isOpen(fd)).toBe(true)
    const second = sync.close()
    await syncsStarted(2)
    expect(started[1]?.fd).toBe(fd)
    started[1]?.end()
    await syncsStarted(3)
    expect(isOpen(fd)).toBe(false)
    expect(started[2]?.fd).toBe(next)
    started[2]?.end()
    await second
    expect(isOpen(next)).toBe(false)
  })

  test('reports a disk failure to its waiters and its owner, and does not retry by itself', async () => {
    const { sync, fd, started, syncsStarted, failures } = setUp(0)
    onTestFinished(() => closeSync(fd))
    sync.markWritten()
    const waiting = sync.sync()
    await syncsStarted(1)
    started[0]?.end(Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO' }))
    await expect(waiting).rejects.toMatchObject({ code: 'AUDIT_UNAVAILABLE' })
    expect(failures).toEqual(['failed'])
    expect(started).toHaveLength(1)
    const again = sync.sync()
    await syncsStarted(2)
    started[1]?.end()
    await again
  })
})
