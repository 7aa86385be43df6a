import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import type { LoggedEvent } from '@sallyport/core'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { EventLogOptions, SegmentedLog } from './event-log.ts'
import { createEvent, scratchFolder } from './scratch.test-kit.ts'
import { openEventLog, scanLog } from './store.ts'

const FIRST = 'events-000000000001.jsonl'

function openLog(folder: string, options: Partial<EventLogOptions> = {}): SegmentedLog {
  const log = openEventLog({ folder, durability: 'process', now: () => new Date(0), ...options })
  onTestFinished(() => log.close())
  return log
}

async function writeLog(folder: string, ...messages: readonly string[]): Promise<Buffer> {
  const log = openLog(folder)
  for (const message of messages) log.append(createEvent(message))
  await log.close()
  return readFileSync(join(folder, FIRST))
}

describe('a record', () => {
  test('is one line of JSON that begins with its number and its time', async () => {
    const folder = scratchFolder()
    const bytes = await writeLog(folder, 'line\nbreak \u2028 and "quotes"')
    expect(bytes.toString().replaceAll(/[0-9a-f]{64}/g, 'hash')).toBe(
      '{"seq":1,"time":"1970-01-01T00:00:00.000Z","after":"hash","type":"CONFIG_REJECTED","message":"line\\nbreak \u2028 and \\"quotes\\"","chain":"hash"}\n',
    )
  })

  test('is in the file when append returns', () => {
    const folder = scratchFolder()
    const log = openLog(folder)
    for (let count = 1; count <= 3; count++) {
      log.append(createEvent('x'))
      expect(readFileSync(join(folder, FIRST), 'utf8').split('\n')).toHaveLength(count + 1)
    }
  })

  test('that cannot be written as JSON does not use up a number', () => {
    const folder = scratchFolder()
    const log = openLog(folder)
    expect(() => log.append(createEvent(1n as unknown as string))).toThrow(TypeError)
    log.append(createEvent('fine'))
    expect(scanLog(folder, {}).map(({ seq }) => seq)).toEqual([1])
  })

  test('is refused once the log is closed', async () => {
    const log = openLog(scratchFolder())
    await log.close()
    expect(() => log.append(createEvent('x'))).toThrow(expect.objectContaining({ code: 'AUDIT_UNAVAILABLE' }))
  })
})

describe('a torn tail', () => {
  test('is cut off at any byte of the last record, and recorded', async () => {
    const whole = await writeLog(scratchFolder(), 'first', 'second é😀')
    const start = whole.indexOf('\n') + 1
    for (let cut = start + 1; cut < whole.length; cut++) {
      const folder = scratchFolder()
      writeFileSync(join(folder, FIRST), whole.subarray(0, cut))
      const log = openLog(folder)
      log.append(createEvent('third'))
      await log.close()
      expect(scanLog(folder, {})).toMatchObject([
        { seq: 1, message: 'first' },
        { seq: 2, type: 'LOG_REPAIRED', file: FIRST, dropped_bytes: cut - start },
        { seq: 3, message: 'third' },
      ])
    }
  })

  test.each([
    ['a line that is not a record', '{"seq":2,"time":"x"\n'],
    ['several of them', 'a\n\n\n{}\n[1]\n'],
    ['zeros', '\0'.repeat(9_000)],
    ['a long run without an end', 'x'.repeat(300_000)],
    ['an invalid number', '{"seq":-4,"time":"","type":"x"}\n'],
  ])('of %s is cut off', async (_what, garbage) => {
    const folder = scratchFolder()
    const whole = await writeLog(folder, 'first')
    appendFileSync(join(folder, FIRST), garbage)
    openLog(folder)
    expect(readFileSync(join(folder, FIRST)).subarray(0, whole.length)).toEqual(whole)
    expect(scanLog(folder, {})).toMatchObject([
      { seq: 1 },
      { seq: 2, type: 'LOG_REPAIRED', dropped_bytes: Buffer.byteLength(garbage) },
    ])
  })

  test('that is the whole file leaves the numbering to the name of the file', () => {
    const folder = scratchFolder()
    writeFileSync(join(folder, 'events-000000000042.jsonl'), 'garbage')
    openLog(folder)
    expect(scanLog(folder, {})).toMatchObject([{ seq: 42, type: 'LOG_REPAIRED', dropped_bytes: 7 }])
  })

  test('is not reported if there is none', async () => {
    const folder = scratchFolder()
    const whole = await writeLog(folder, 'x'.repeat(200_000), 'y')
    openLog(folder)
    expect(readFileSync(join(folder, FIRST))).toEqual(whole)
  })
})

describe('segments', () => {
  test('follow each other when they reach their size, are named by their first number, and the numbering continues after a restart', async () => {
    const folder = scratchFolder()
    for (let run = 0; run < 3; run++) {
      const log = openLog(folder, { segmentBytes: 500 })
      for (let count = 0; count < 20; count++) log.append(createEvent('x'.repeat(count)))
      await log.close()
    }
    const names = readdirSync(folder).sort()
    expect(names.length).toBeGreaterThan(5)
    for (const name of names) {
      const first = JSON.parse(readFileSync(join(folder, name), 'utf8').split('\n')[0] as string) as LoggedEvent
      expect(name).toBe(`events-${String(first.seq).padStart(12, '0')}.jsonl`)
      expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600)
    }
    expect(scanLog(folder, {}).map(({ seq }) => seq)).toEqual(Array.from({ length: 60 }, (_, at) => at + 1))
  })

  test('continue in the old file if no new one can be created', async () => {
    const folder = scratchFolder()
    const log = openLog(folder, { segmentBytes: 100 })
    log.append(createEvent('x'.repeat(100)))
    const blocked = join(folder, 'events-000000000002.jsonl')
    mkdirSync(blocked)
    log.append(createEvent('in the old file'))
    rmSync(blocked, { recursive: true })
    log.append(createEvent('in a new file'))
    await log.close()
    expect(readdirSync(folder).sort()).toEqual([FIRST, 'events-000000000003.jsonl'])
    expect(scanLog(folder, {}).map(({ seq }) => seq)).toEqual([1, 2, 3])
  })

  test('are never reached through a symbolic link', () => {
    const folder = scratchFolder()
    const elsewhere = join(scratchFolder(), 'victim')
    writeFileSync(elsewhere, 'precious')
    symlinkSync(elsewhere, join(folder, FIRST))
    expect(() => openLog(folder)).toThrow(expect.objectContaining({ code: 'STATE_UNUSABLE' }))
    expect(readFileSync(elsewhere, 'utf8')).toBe('precious')
  })
})

describe('records of one turn', () => {
  const messages = (folder: string) => scanLog(folder, {}).map((event) => 'message' in event && event.message)

  test('are all in the file, in order, when the first of them is acknowledged', async () => {
    const folder = scratchFolder()
    const log = openLog(folder)
    const first = log.appendSoon(createEvent('one'))
    const others = [log.appendSoon(createEvent('two')), log.appendSoon(createEvent('three'))]
    expect(messages(folder)).toEqual([])
    expect(await first).toBeUndefined()
    expect(messages(folder)).toEqual(['one', 'two', 'three'])
    expect(await Promise.all(others)).toEqual([undefined, undefined])
  })

  test('come before one that is written immediately after them', async () => {
    const folder = scratchFolder()
    const log = openLog(folder)
    const gathered = log.appendSoon(createEvent('gathered'))
    log.append(createEvent('at once'))
    expect(messages(folder)).toEqual(['gathered', 'at once'])
    expect(await gathered).toBeUndefined()
  })

  test('are written when the log is closed, and refused after that', async () => {
    const folder = scratchFolder()
    const log = openLog(folder)
    const last = log.appendSoon(createEvent('last'))
    await log.close()
    expect(await last).toBeUndefined()
    expect(await log.appendSoon(createEvent('late'))).toMatchObject({ code: 'AUDIT_UNAVAILABLE' })
    expect(messages(folder)).toEqual(['last'])
  })

  test('are delivered to watchers in order, before what a watcher appends meanwhile', async () => {
    const log = openLog(scratchFolder())
    const delivered: number[] = []
    log.watch(({ seq }) => {
      if (seq === 1) log.append(createEvent('from a watcher'))
    })
    log.watch(({ seq }) => delivered.push(seq))
    await Promise.all([log.appendSoon(createEvent('one')), log.appendSoon(createEvent('two'))])
    expect(delivered).toEqual([1, 2, 3])
  })
})

describe('watchers', () => {
  test('get each event in order, also those that other watchers append meanwhile', () => {
    const log = openLog(scratchFolder())
    const delivered: number[] = []
    log.watch(({ seq }) => {
      if (seq === 1) log.append(createEvent('from a watcher'))
    })
    const stop = log.watch(({ seq }) => delivered.push(seq))
    log.append(createEvent('one'))
    log.append(createEvent('two'))
    stop()
    log.append(createEvent('three'))
    expect(delivered).toEqual([1, 2, 3])
  })

  test('that throw affect neither the append nor the others, and are reported', async () => {
    const warned = new Promise<Error>((resolve) => process.once('warning', resolve))
    const folder = scratchFolder()
    const log = openLog(folder)
    const delivered: number[] = []
    log.watch(() => {
      throw new Error('a bug')
    })
    log.watch(({ seq }) => delivered.push(seq))
    log.append(createEvent('one'))
    log.append(createEvent('two'))
    expect(delivered).toEqual([1, 2])
    expect(scanLog(folder, {})).toHaveLength(2)
    expect((await warned).message).toContain('a bug')
  })
})

describe('a log file that loses its name', () => {
  const messages = (folder: string) =>
    scanLog(folder, {}).map(({ seq, ...event }) => [seq, 'message' in event && event.message])

  test.each([
    ['is removed', (folder: string) => rmSync(join(folder, FIRST))],
    ['is moved away', (folder: string) => renameSync(join(folder, FIRST), join(folder, 'old'))],
    ['is removed with its folder', (folder: string) => rmSync(folder, { recursive: true })],
    [
      'is replaced by a copy',
      (folder: string) => {
        const bytes = readFileSync(join(folder, FIRST))
        rmSync(join(folder, FIRST))
        writeFileSync(join(folder, FIRST), bytes)
      },
    ],
  ])('because it %s is followed by a new one, and no later record is lost', async (_how, lose) => {
    const folder = join(scratchFolder(), 'logs')
    const log = openLog(folder)
    log.append(createEvent('before'))
    await outlive(40)
    log.append(createEvent('seen'))
    lose(folder)
    for (const message of ['at once', 'again']) log.append(createEvent(message))
    await outlive(40)
    log.append(createEvent('later'))
    expect(messages(folder).slice(-3)).toEqual([
      [3, 'at once'],
      [4, 'again'],
      [5, 'later'],
    ])
    await log.close()
    const again = openLog(folder)
    again.append(createEvent('next run'))
    expect(messages(folder).at(-1)).toEqual([6, 'next run'])
  })

  test('just before the end still passes on its last records', async () => {
    const folder = join(scratchFolder(), 'logs')
    const log = openLog(folder)
    rmSync(folder, { recursive: true })
    log.append(createEvent('last'))
    await log.close()
    expect(messages(folder)).toEqual([[1, 'last']])
  })

  test('and cannot be followed by a new one accepts no record until it can', async () => {
    const state = scratchFolder()
    const folder = join(state, 'logs')
    const log = openLog(folder)
    rmSync(folder, { recursive: true })
    writeFileSync(folder, '')
    await outlive(40)
    expect(() => log.append(createEvent('x'))).toThrow(expect.objectContaining({ code: 'AUDIT_UNAVAILABLE' }))
    await Promise.all([log.appendSoon(createEvent('x')), log.appendSoon(createEvent('x'))])
    rmSync(folder)
    log.append(createEvent('y'))
    expect(log.failures).toBe(3)
    expect(messages(folder)).toEqual([[1, 'y']])
  })

  test('together with the whole state is not created again in a state that another process may hold', async () => {
    const state = join(scratchFolder(), 'state')
    const folder = join(state, 'logs')
    const log = openLog(folder)
    renameSync(state, `${state}.old`)
    mkdirSync(state)
    await outlive(40)
    expect(() => log.append(createEvent('x'))).toThrow(expect.objectContaining({ code: 'AUDIT_UNAVAILABLE' }))
    expect(readdirSync(state)).toEqual([])
  })
})

/** The last check of the file's name is at most this old. */
async function outlive(milliseconds: number): Promise<void> {
  const start = performance.now()
  while (performance.now() - start <= milliseconds) await new Promise(setImmediate)
}
