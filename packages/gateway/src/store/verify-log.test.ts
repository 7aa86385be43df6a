import { appendFileSync, copyFileSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert, asyncProperty, integer } from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import type { EventLogOptions, SegmentedLog } from './event-log.ts'
import { createEvent, openTestStore, scratchFolder } from './scratch.test-kit.ts'
import { openEventLog } from './store.ts'
import { type LogReport, verifyLog } from './verify-log.ts'

const FIRST = 'events-000000000001.jsonl'

function openLog(folder: string, options: Partial<EventLogOptions> = {}): SegmentedLog {
  const log = openEventLog({ folder, durability: 'process', now: () => new Date(0), ...options })
  onTestFinished(() => log.close())
  return log
}

/** Some single writes and some shared ones, over several files. */
async function writeLog(folder: string, segmentBytes = 2_000): Promise<void> {
  const log = openLog(folder, { segmentBytes })
  for (let round = 0; round < 6; round++) {
    log.append(createEvent(`alone ${round}`))
    await Promise.all([1, 2, 3].map((at) => log.appendSoon(createEvent(`together ${round}.${at} é😀`))))
  }
  await log.close()
}

const filesIn = (folder: string): readonly string[] =>
  readdirSync(folder)
    .filter((name) => name.startsWith('events-'))
    .sort()

const linesOf = (path: string): string[] => readFileSync(path, 'utf8').split('\n').slice(0, -1)
const writeLines = (path: string, lines: readonly string[]): void => writeFileSync(path, `${lines.join('\n')}\n`)
const whats = ({ problems }: LogReport): readonly string[] => problems.map(({ what }) => what)

describe('a log as it was written', () => {
  test('verifies over all its files and restarts, and reports its head', async () => {
    const folder = scratchFolder()
    for (let run = 0; run < 3; run++) await writeLog(folder)
    const files = filesIn(folder)
    expect(files.length).toBeGreaterThan(3)
    const report = await verifyLog({ folder })
    expect(report).toMatchObject({
      files: files.length,
      records: 72,
      first: { seq: 1, time: '1970-01-01T00:00:00.000Z' },
      last: { seq: 72 },
      chainedFrom: 1,
      trimmedThrough: undefined,
      unfinished: { records: 0, bytes: 0 },
      problems: [],
      problemCount: 0,
    })
    const last = JSON.parse(linesOf(join(folder, files.at(-1) as string)).at(-1) as string)
    expect(report.head).toEqual({ seq: 72, chain: last.chain })
  })

  test('contains every head that was noted of it', async () => {
    const folder = scratchFolder()
    await writeLog(folder)
    const noted = (await verifyLog({ folder })).head
    await writeLog(folder)
    expect(await verifyLog({ folder, noted: String(noted?.chain) })).toMatchObject({ notedAt: 24, problems: [] })
    expect(await verifyLog({ folder, noted: 'f'.repeat(64) })).toMatchObject({ notedAt: undefined })
  })

  test('that is empty or missing has no problems', async () => {
    const folder = scratchFolder()
    expect(await verifyLog({ folder: join(folder, 'none') })).toMatchObject({ files: 0, problems: [] })
    await openLog(folder).close()
    expect(await verifyLog({ folder })).toMatchObject({ files: 1, records: 0, head: undefined, problems: [] })
  })

  test('verifies while it is written to', async () => {
    const folder = scratchFolder()
    const log = openLog(folder, { segmentBytes: 20_000 })
    for (let count = 0; count < 300; count++) log.append(createEvent('x'.repeat(100)))
    const reports: LogReport[] = []
    for (let round = 0; round < 10; round++) {
      const verifying = verifyLog({ folder })
      for (let count = 0; count < 50; count++) log.append(createEvent('y'))
      reports.push(await verifying)
    }
    expect(reports.flatMap(whats)).toEqual([])
  })

  test('holds a record of ten megabytes', async () => {
    const folder = scratchFolder()
    const log = openLog(folder)
    for (const length of [1, 10_000_000, 1]) log.append(createEvent('x'.repeat(length)))
    await log.close()
    expect(await verifyLog({ folder })).toMatchObject({ records: 3, problems: [] })
    openLog(folder).append(createEvent('next'))
    expect(await verifyLog({ folder })).toMatchObject({ records: 4, problems: [] })
  })

  test('verifies even if the clock was changed', async () => {
    const folder = scratchFolder()
    let time = Date.UTC(2026, 4, 1)
    const log = openLog(folder, { now: () => new Date(time) })
    for (let count = 0; count < 5; count++) {
      log.append(createEvent('x'))
      time -= 3_600_000
    }
    expect(await verifyLog({ folder })).toMatchObject({ records: 5, problems: [] })
  })
})

describe(`${promise('GOV-27')} manipulation of a log is found:`, () => {
  test('any changed byte of any file but the newest', async () => {
    const folder = scratchFolder()
    await writeLog(folder)
    const closed = filesIn(folder).slice(0, -1)
    const good = closed.map((name) => readFileSync(join(folder, name)))
    const size = good.reduce((sum, { length }) => sum + length, 0)
    const flips = asyncProperty(
      integer({ min: 0, max: size - 1 }),
      integer({ min: 1, max: 255 }),
      async (place, mask) => {
        let at = place
        let index = 0
        for (; at >= (good[index] as Buffer).length; index++) at -= (good[index] as Buffer).length
        const bytes = Buffer.from(good[index] as Buffer)
        bytes[at] = (bytes[at] as number) ^ mask
        const path = join(folder, closed[index] as string)
        writeFileSync(path, bytes)
        const { problems } = await verifyLog({ folder })
        writeFileSync(path, good[index] as Buffer)
        return problems.length > 0
      },
    )
    await assert(flips, { numRuns: 1_000 })
  })

  test('any changed byte of the newest file, once the log was closed', async () => {
    const state = scratchFolder()
    const store = openTestStore({ state })
    for (let count = 0; count < 3; count++) store.log.append(createEvent(`n${count}`))
    await store.close()
    const folder = join(state, 'logs')
    const good = readFileSync(join(folder, FIRST))
    for (let at = 0; at < good.length; at++) {
      const bytes = Buffer.from(good)
      bytes[at] = (bytes[at] as number) ^ 0x20
      writeFileSync(join(folder, FIRST), bytes)
      expect([at, (await verifyLog({ folder })).problemCount > 0]).toEqual([at, true])
    }
  })

  test.each<[string, (lines: string[]) => string[], string]>([
    ['a removed record', (lines) => lines.toSpliced(0, 1), 'record 5 is missing before record 6'],
    ['removed records', (lines) => lines.toSpliced(1, 2), 'records 6 to 7 are missing before record 8'],
    ['a duplicate record', (lines) => [...lines, lines.at(-1) as string], 'comes after record'],
    ['two swapped records', (lines) => [lines[1], lines[0], ...lines.slice(2)] as string[], 'comes after record'],
    ['a foreign record', (lines) => lines.toSpliced(2, 0, '{"seq":6,"time":"x","type":"X"}'), 'comes after record'],
    ['a foreign line', (lines) => lines.toSpliced(2, 0, ''), 'a line is not a valid record'],
    [
      'an altered record',
      (lines) => lines.with(0, (lines[0] as string).replace('alone', 'never')),
      'record 5 was altered',
    ],
    [
      'an altered record among those of one write',
      (lines) => lines.with(2, (lines[2] as string).replace('together', 'separate')),
      'one of the records 6 to 8 was altered, or several',
    ],
    [
      'a removed chain value',
      (lines) => lines.with(0, (lines[0] as string).replace(/,"chain":"\w+"/, '')),
      'record 5 is without a chain value',
    ],
  ])('%s', async (_what, change, what) => {
    const folder = scratchFolder()
    await writeLog(folder, 100)
    const file = filesIn(folder).find((name) => name.includes('5.')) as string
    // One file for both writes of a round, so that there are records on both sides.
    const next = `events-${'6'.padStart(12, '0')}.jsonl`
    const path = join(folder, file)
    writeLines(path, change([...linesOf(path), ...linesOf(join(folder, next))]))
    rmSync(join(folder, next))
    const report = await verifyLog({ folder })
    expect(whats(report).join('\n')).toContain(what)
    expect(report.problems[0]?.file).toBe(file)
  })

  test('a removed file at any position', async () => {
    const folder = scratchFolder()
    await writeLog(folder)
    for (const name of filesIn(folder).slice(0, -1)) {
      const aside = join(scratchFolder(), name)
      renameSync(join(folder, name), aside)
      expect(whats(await verifyLog({ folder }))[0]).toMatch(/^records? \d+ (to \d+ are|is) missing/)
      renameSync(aside, join(folder, name))
    }
    expect(whats(await verifyLog({ folder }))).toEqual([])
  })

  test('a file of another log in the place of its own', async () => {
    const [folder, other] = [scratchFolder(), scratchFolder()]
    await writeLog(folder)
    const log = openLog(other, { segmentBytes: 2_000 })
    for (let count = 0; count < 40; count++) log.append(createEvent('other'))
    const [, name = ''] = filesIn(folder)
    copyFileSync(join(other, filesIn(other)[1] as string), join(folder, name))
    expect((await verifyLog({ folder })).problemCount).toBeGreaterThan(0)
  })

  test('bytes after the last record of a file that others follow', async () => {
    const folder = scratchFolder()
    await writeLog(folder)
    appendFileSync(join(folder, FIRST), '{"seq":')
    expect(whats(await verifyLog({ folder }))).toEqual([
      '7 bytes after the last record of the file are not a valid record',
    ])
  })

  test('everything, but at most a hundred problems are listed', async () => {
    const folder = scratchFolder()
    writeFileSync(join(folder, FIRST), 'x\n'.repeat(5_000))
    const { problems, problemCount } = await verifyLog({ folder })
    expect([problems.length, problemCount]).toEqual([100, 5_000])
  })
})

describe('an end that was cut off', () => {
  async function closedState(): Promise<{ readonly state: string; readonly folder: string; readonly path: string }> {
    const state = scratchFolder()
    const store = openTestStore({ state })
    for (let count = 0; count < 10; count++) store.log.append(createEvent(`n${count}`))
    await store.close()
    const folder = join(state, 'logs')
    return { state, folder, path: join(folder, FIRST) }
  }

  test('is found by the saved head', async () => {
    const { folder, path } = await closedState()
    writeLines(path, linesOf(path).slice(0, 7))
    expect(whats(await verifyLog({ folder }))).toEqual(['records 8 to 10 are missing at the end'])
  })

  test('is still found after the next start, and no number is used twice', async () => {
    const { state, folder, path } = await closedState()
    writeLines(path, linesOf(path).slice(0, 7))
    const store = openTestStore({ state })
    store.log.append(createEvent('next'))
    await store.close()
    expect(linesOf(path).at(-1)).toMatch(/^\{"seq":11,/)
    expect(whats(await verifyLog({ folder }))).toEqual(['records 8 to 10 are missing before record 11'])
  })

  test('and written again is found, also after the next start', async () => {
    const { state, folder, path } = await closedState()
    const lines = linesOf(path)
    writeLines(path, lines.with(9, (lines[9] as string).replace('n9', 'nn').replace(/,"chain":"\w+"/, '')))
    const what = 'record 10 or one before it differs from what head.json states'
    expect(whats(await verifyLog({ folder }))).toEqual([what])
    const store = openTestStore({ state })
    store.log.append(createEvent('next'))
    await store.close()
    expect(whats(await verifyLog({ folder }))).toEqual(['record 10 is without a chain value'])
  })

  test('with all files is found', async () => {
    const { state, folder, path } = await closedState()
    rmSync(path)
    expect(whats(await verifyLog({ folder }))).toEqual(['records 1 to 10 are missing at the end'])
    const store = openTestStore({ state })
    store.log.append(createEvent('next'))
    await store.close()
    expect(whats(await verifyLog({ folder }))[0]).toContain('records 1 to 10 are missing')
  })

  test.each(['', '{', '[]', '{"seq":-1}', `{"seq":1e15,"chain":"${'0'.repeat(64)}"}`, '\0'.repeat(100)])(
    'is not reported because of a saved head with %j',
    async (content) => {
      const { folder } = await closedState()
      writeFileSync(join(folder, 'head.json'), content)
      expect(whats(await verifyLog({ folder }))).toEqual([])
    },
  )
})

describe('an interrupted write', () => {
  test('at any byte is not reported, before and after the repair', async () => {
    const source = scratchFolder()
    const log = openLog(source)
    log.append(createEvent('first'))
    const before = readFileSync(join(source, FIRST)).length
    await Promise.all(['a', 'b', 'c'].map((text) => log.appendSoon(createEvent(text))))
    await log.close()
    const whole = readFileSync(join(source, FIRST))
    for (let cut = before; cut < whole.length; cut += 3) {
      const folder = scratchFolder()
      writeFileSync(join(folder, FIRST), whole.subarray(0, cut))
      expect(whats(await verifyLog({ folder }))).toEqual([])
      const next = openLog(folder, { segmentBytes: 10 })
      for (const text of ['next', 'one more']) next.append(createEvent(text))
      await next.close()
      expect([cut, ...whats(await verifyLog({ folder }))]).toEqual([cut])
    }
  })

  test('at the very beginning of a file is not reported', async () => {
    const source = scratchFolder()
    const log = openLog(source)
    await Promise.all(['a', 'b', 'c'].map((text) => log.appendSoon(createEvent(text))))
    await log.close()
    const whole = readFileSync(join(source, FIRST))
    for (let cut = 0; cut < whole.length; cut += 3) {
      const folder = scratchFolder()
      writeFileSync(join(folder, FIRST), whole.subarray(0, cut))
      const next = openLog(folder)
      next.append(createEvent('next'))
      await next.close()
      expect([cut, ...whats(await verifyLog({ folder }))]).toEqual([cut])
    }
  })

  test('leaves a file that was created and never written, and the chain continues', async () => {
    const folder = scratchFolder()
    await writeLog(folder)
    writeFileSync(join(folder, 'events-000000000025.jsonl'), '')
    await writeLog(folder)
    expect(await verifyLog({ folder })).toMatchObject({ records: 48, problems: [] })
  })
})

describe('a log that was begun without a chain', () => {
  const plain = (seq: number): string =>
    JSON.stringify({ seq, time: '2026-01-01T00:00:00.000Z', ...createEvent('old') })

  test('is verified from where its chain begins, and says so', async () => {
    const folder = scratchFolder()
    writeLines(join(folder, FIRST), [1, 2, 3].map(plain))
    expect(await verifyLog({ folder })).toMatchObject({
      records: 3,
      chainedFrom: undefined,
      head: undefined,
      problems: [],
    })
    await writeLog(folder)
    expect(await verifyLog({ folder })).toMatchObject({ records: 27, chainedFrom: 4, problems: [] })
  })

  test('in several files is too', async () => {
    const folder = scratchFolder()
    writeLines(join(folder, FIRST), [1, 2, 3].map(plain))
    writeFileSync(join(folder, 'events-000000000004.jsonl'), '')
    await writeLog(folder)
    expect(await verifyLog({ folder })).toMatchObject({ records: 27, chainedFrom: 4, problems: [] })
  })

  test('whose newest records were written by an older version covers them with the next record', async () => {
    const folder = scratchFolder()
    await writeLog(folder, 100_000)
    appendFileSync(join(folder, FIRST), `${plain(25)}\n${plain(26)}\n`)
    expect(await verifyLog({ folder })).toMatchObject({ records: 26, unfinished: { records: 2 }, problems: [] })
    await writeLog(folder, 100_000)
    expect(await verifyLog({ folder })).toMatchObject({ records: 50, unfinished: { records: 0 }, problems: [] })
  })
})

describe('a log file that loses its name while it is written to', () => {
  /** The last check of the file's name is at most this old. */
  async function outlive(milliseconds: number): Promise<void> {
    const start = performance.now()
    while (performance.now() - start <= milliseconds) await new Promise(setImmediate)
  }

  const copyOver = (path: string): void => {
    const bytes = readFileSync(path)
    rmSync(path)
    writeFileSync(path, bytes)
  }

  test.each<[string, (path: string) => void, RegExp]>([
    ['removed', rmSync, /^records 1 to \d are missing, and no record says/],
    ['replaced by a copy', copyOver, /^record (\d) comes after record \1$/],
  ])('because it is %s is found, and the chain continues after it', async (_how, lose, what) => {
    const folder = join(scratchFolder(), 'logs')
    const log = openLog(folder)
    log.append(createEvent('before'))
    for (const run of [1, 2]) {
      await outlive(40)
      log.append(createEvent(`seen ${run}`))
      lose(join(folder, filesIn(folder).at(-1) as string))
      for (const message of ['at once', 'again']) await log.appendSoon(createEvent(message))
    }
    await log.close()
    const next = openLog(folder)
    next.append(createEvent('next run'))
    await next.close()
    const report = await verifyLog({ folder })
    for (const each of whats(report)) expect(each).toMatch(what)
    expect(report.problemCount).toBeGreaterThan(0)
    expect(report.last?.seq).toBe(8)
  })
})
