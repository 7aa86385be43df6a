import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { roundsOf } from '../../../../tests/harness/rounds.ts'
import { createEvent, openTestStore, scratchFolder, startChild } from './scratch.test-kit.ts'
import { openEventLog, scanLog } from './store.ts'
import { verifyLog } from './verify-log.ts'

const ROUNDS = roundsOf({ few: 6, many: 40 })
const CAN_MOUNT = canMount()

describe('kill -9', () => {
  test(`of a writer, ${ROUNDS} times: every acknowledged record is there, once, in order`, async () => {
    const state = scratchFolder()
    let acknowledged = 0
    for (let round = 0; round < ROUNDS; round++) {
      const child = startChild('write', state)
      for (let count = 0; count <= (round * 53) % 211; count++)
        acknowledged = Number((await child.nextMessage()) ?? acknowledged)
      child.process.kill('SIGKILL')
      acknowledged = Math.max(acknowledged, ...(await child.remainingMessages()).map(Number))
      await child.kill()
    }
    const store = openTestStore({ state })
    const seqs = (await store.find({})).map(({ seq }) => seq)
    expect(seqs).toEqual(Array.from({ length: seqs.length }, (_, at) => at + 1))
    expect(seqs.length).toBeGreaterThanOrEqual(acknowledged)
    expect(await store.find({})).toEqual(scanLog(join(state, 'logs'), {}))
    expect(readdirSync(state).filter((name) => name.includes('broken'))).toEqual([])
    expect(await verifyLog({ folder: join(state, 'logs') })).toMatchObject({ records: seqs.length, problems: [] })
  }, 180_000)

  test(`of one that removes old files, ${ROUNDS / 2} times: the newest part is left, and verifies`, async () => {
    const state = scratchFolder()
    const folder = join(state, 'logs')
    let acknowledged = 0
    for (let round = 0; round < ROUNDS / 2; round++) {
      const child = startChild('trim', state)
      for (let count = 0; count <= (round * 7) % 23; count++)
        acknowledged = Number((await child.nextMessage()) ?? acknowledged)
      child.process.kill('SIGKILL')
      acknowledged = Math.max(acknowledged, ...(await child.remainingMessages()).map(Number))
      await child.kill()
      const { problems, last } = await verifyLog({ folder })
      expect(problems).toEqual([])
      expect(last?.seq).toBeGreaterThanOrEqual(acknowledged)
    }
    const store = openTestStore({ state })
    const seqs = (await store.find({})).map(({ seq }) => seq)
    await store.close()
    const { first, trimmedThrough } = await verifyLog({ folder })
    expect(seqs).toEqual(Array.from({ length: seqs.length }, (_, at) => at + Number(first?.seq)))
    expect(trimmedThrough).toBeGreaterThan(20 * ROUNDS)
    expect(readdirSync(folder).filter((name) => name.endsWith('-tmp'))).toEqual([])
  }, 180_000)

  test('of one that replaces a file leaves the old or the new one complete, and the next start cleans up', async () => {
    const state = scratchFolder()
    for (let round = 0; round < 12; round++) {
      const child = startChild('replace', state)
      let last = -1
      for (let count = 0; count < 3 + round; count++) last = Number(await child.nextMessage())
      child.process.kill('SIGKILL')
      last = Math.max(last, ...(await child.remainingMessages()).map(Number))
      await child.kill()
      const { count } = JSON.parse(readFileSync(join(state, 'file.json'), 'utf8')) as { count: number }
      expect(count).toBeGreaterThanOrEqual(last)
    }
    openTestStore({ state })
    expect(readdirSync(state).filter((name) => name.endsWith('-tmp'))).toEqual([])
  })
})

describe('a full disk', () => {
  test.skipIf(!CAN_MOUNT)(
    'refuses the record with what to do, leaves only whole records, and recording resumes when there is space',
    async () => {
      const disk = mountSmallDisk('2m')
      const ballast = join(disk, 'ballast')
      writeFileSync(ballast, Buffer.alloc(300_000))
      const child = startChild('fill', join(disk, 'state'))
      const reply = (await child.nextMessage()) as { appended: number; code: string; hint: string }
      expect(reply.code).toBe('AUDIT_UNAVAILABLE')
      expect(reply.hint).toContain('space')
      const logs = join(disk, 'state', 'logs')
      const [file] = readdirSync(logs)
      expect(readFileSync(join(logs, file as string), 'utf8').endsWith('}\n')).toBe(true)
      expect(scanLog(logs, {})).toHaveLength(reply.appended)
      execFileSync('rm', [ballast])
      child.process.stdin.write('go\n')
      expect(await child.nextMessage()).toBe('closed')
      await child.remainingMessages()
      expect(scanLog(logs, {})).toHaveLength(reply.appended + 1)
      expect(await verifyLog({ folder: logs })).toMatchObject({ records: reply.appended + 1, problems: [] })
    },
  )

  test.skipIf(!CAN_MOUNT)('from the start neither hides a repair nor prevents the log from opening', async () => {
    const disk = mountSmallDisk('1m')
    const folder = join(disk, 'logs')
    mkdirSync(folder)
    writeFileSync(
      join(folder, 'events-000000000001.jsonl'),
      `${JSON.stringify({ seq: 1, time: '', type: 'X' })}${' '.repeat(4000)}\ntorn`,
    )
    fillUp(join(disk, 'ballast'))
    const log = openEventLog({ folder, durability: 'process', now: () => new Date(0) })
    onTestFinished(() => log.close())
    expect(() => log.append(createEvent('x'.repeat(5_000)))).toThrow(
      expect.objectContaining({ code: 'AUDIT_UNAVAILABLE' }),
    )
    execFileSync('rm', [join(disk, 'ballast')])
    log.append(createEvent('y'))
    await log.close()
    expect(scanLog(folder, {}).map(({ type }) => type)).toEqual(['X', 'LOG_REPAIRED', 'CONFIG_REJECTED'])
  })

  test.skipIf(!CAN_MOUNT)(
    'during a change of files, and during the removal of old ones, leaves a log that verifies',
    async () => {
      const disk = mountSmallDisk('512k')
      const state = join(disk, 'state')
      const folder = join(state, 'logs')
      const retention = { age: 1e12, bytes: 200_000 }
      const options = { state, retention, segmentBytes: 4_096 }
      const store = openTestStore(options)
      fillUp(join(disk, 'ballast'))
      const outcomes = new Set<string>()
      for (let count = 0; count < 400; count++) {
        if (count === 200) execFileSync('rm', [join(disk, 'ballast')])
        const failure = await store.log.appendSoon(createEvent('x'.repeat(700)))
        outcomes.add(failure?.code ?? 'written')
        if (count === 350) fillUp(join(disk, 'ballast'))
      }
      expect([...outcomes].sort()).toEqual(['AUDIT_UNAVAILABLE', 'written'])
      expect(await verifyLog({ folder })).toMatchObject({ problems: [], unfinished: { bytes: 0 } })
      execFileSync('rm', [join(disk, 'ballast')])
      await store.close()
      const again = openTestStore(options)
      again.log.append(createEvent('again'))
      await again.close()
      expect(await verifyLog({ folder })).toMatchObject({ problems: [], unfinished: { records: 0, bytes: 0 } })
    },
  )

  test('behaves the same if a limit on file sizes causes it', async () => {
    const state = scratchFolder()
    const child = startChild('fill', state, 'ulimit -f 256;')
    const reply = (await child.nextMessage()) as { appended: number; code: string; hint: string }
    expect(reply).toMatchObject({ code: 'AUDIT_UNAVAILABLE', hint: expect.stringContaining('limit') })
    const logs = join(state, 'logs')
    const [file] = readdirSync(logs)
    expect(readFileSync(join(logs, file as string), 'utf8').endsWith('}\n')).toBe(true)
    expect(scanLog(logs, {})).toHaveLength(reply.appended)
  })
})

test('of the records that are written together, only those fail that do not fit', async () => {
  const state = scratchFolder()
  const child = startChild('gather', state, 'ulimit -f 256;')
  expect(await child.nextMessage()).toEqual(['written', 'AUDIT_UNAVAILABLE', 'written'])
  const stored = scanLog(join(state, 'logs'), {}).map((event) => 'message' in event && event.message)
  expect(stored).toEqual(['before', 'after'])
})

test.skipIf(!CAN_MOUNT)('a read-only state is refused with what to do', () => {
  const disk = mountSmallDisk('1m')
  execFileSync('mount', ['-o', 'remount,ro', disk])
  expect(() => openTestStore({ state: join(disk, 'state') })).toThrow(
    expect.objectContaining({ code: 'STATE_UNUSABLE', hint: expect.stringContaining('--state') }),
  )
  expect(() => openTestStore({ state: disk })).toThrow(
    expect.objectContaining({ code: 'STATE_UNUSABLE', hint: expect.stringContaining('read-only') }),
  )
})

test('a state below a file is refused with what to do', () => {
  const file = join(scratchFolder(), 'file')
  writeFileSync(file, '')
  for (const state of [file, join(file, 'state')])
    expect(() => openTestStore({ state })).toThrow(
      expect.objectContaining({ code: 'STATE_UNUSABLE', hint: expect.stringContaining('--state') }),
    )
})

/** A separate real file system. */
function mountSmallDisk(size: string): string {
  const disk = scratchFolder()
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', disk])
  onTestFinished(() => {
    execFileSync('umount', ['-l', disk])
  })
  return disk
}

/**
 * Mounting needs root and a kernel that allows it. Elsewhere only the limit on file sizes is tested, and the rest is
 * shown as skipped.
 */
function canMount(): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-mount-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', folder], { stdio: 'ignore' })
    execFileSync('umount', [folder])
    return true
  } catch {
    return false
  } finally {
    rmdirSync(folder)
  }
}

function fillUp(path: string): void {
  try {
    for (;;) writeFileSync(path, Buffer.alloc(4096), { flag: 'a' })
  } catch {
    // The disk is full.
  }
}
