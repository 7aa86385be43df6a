import { chmodSync, mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { SallyportError } from '@sallyport/core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { StdioServerConfig } from '../../config/settings.ts'
import { findProcesses, sweepProcesses } from '../processes/process-sweep.ts'
import { openWatchdog, type Watchdog } from '../processes/watchdog.ts'
import { StderrTail } from '../stderr-tail.ts'
import { countMarked, freshMark, hostileConfig, stdioConfig, TestConnection } from './stdio.test-kit.ts'
import type { StdioTransportOptions } from './stdio-transport.ts'

const runMark = freshMark()
const SHORT = { afterInputEnds: 50, afterTerminate: 50 }
let watchdog: Watchdog
let number = 0
const conversations: TestConnection[] = []
const folder = mkdtempSync(path.join(tmpdir(), 'stdio-transport-'))

beforeAll(() => {
  watchdog = openWatchdog({ environment: process.env, runMark })
})

afterEach(async () => {
  await Promise.all(conversations.splice(0).map(({ transport }) => transport.close()))
  expect(countMarked(runMark)).toBe(0)
})

afterAll(async () => {
  await sweepProcesses({ mark: runMark })
  await watchdog.close()
  rmSync(folder, { recursive: true })
})

function prepare(choices: Partial<StdioTransportOptions> = {}): TestConnection {
  const conversation = new TestConnection({ watchdog, mark: `${runMark}.hostile.${++number}`, ...choices })
  conversations.push(conversation)
  return conversation
}

async function talk(config: StdioServerConfig = stdioConfig(), choices: Partial<StdioTransportOptions> = {}) {
  const conversation = prepare({ config, ...choices })
  await conversation.transport.open(conversation.received)
  return conversation
}

describe('StdioTransport carries messages', () => {
  it('there and back', async () => {
    const subject = await talk()
    expect(await subject.callForText('echo', { text: 'Grüße €😀' })).toBe('{"text":"Grüße €😀"}')
    expect(subject.received.warnings).toEqual([])
  })

  it.each(['crlf', 'bom', 'garbage', 'one-byte'])('through a server that writes with %s', async (behavior) => {
    const subject = await talk(hostileConfig(behavior))
    expect(await subject.callForText('echo', { n: 1 })).toBe('{"n":1}')
    expect(await subject.callForText('split')).toBe('é€😀'.repeat(20))
    expect(subject.received.reasons).toEqual([])
  })

  it('with the variables a program needs, and none of ours', async () => {
    const config = stdioConfig({ env: { OWN: '1' } })
    const environment = { PATH: process.env.PATH, HOME: '/home/ada', OPENAI_API_KEY: 'secret' }
    const { env } = JSON.parse(await (await talk(config, { environment })).callForText('pid'))
    expect(env).toEqual(['HOME', 'OWN', 'PATH', 'SALLYPORT_MARK'])
  })

  it('and survives an answer of 100 MB, of which it fails only the call', async () => {
    const subject = await talk(stdioConfig({ maxMessageBytes: 1_000_000 }))
    const error = await subject.received.failure(subject.call('big'))
    expect(error.code).toBe('UPSTREAM_TOO_LARGE')
    expect(await subject.callForText('echo')).toBe('{}')
  })

  it('of many megabytes both ways', async () => {
    const subject = await talk()
    const text = 'é'.repeat(5_000_000)
    expect(JSON.parse(await subject.callForText('echo', { text }))).toEqual({ text })
  })

  it('in order through a flood', async () => {
    const subject = await talk()
    await subject.callForText('flood', { count: 50_000 })
    const lines = subject.received.messages.slice(0, -1)
    expect(lines).toHaveLength(50_000)
    expect(lines.every(({ params }, index) => (params as { data: string }).data === `line ${index}`)).toBe(true)
  })

  it('while stderr is flooded, of which the last lines are retained', async () => {
    const subject = await talk(hostileConfig('stderr-flood=20000000'))
    expect(await subject.callForText('echo')).toBe('{}')
    expect(subject.stderr.tail().at(-1)).toBe('the last word')
    expect(subject.stderr.dropped).toBeGreaterThan(100_000)
    expect(subject.stderr.tail()[1]).toMatch(/^warning noise/)
  })

  it('up to the limit for a server that does not read its stdin', async () => {
    const subject = await talk(stdioConfig(), { maxQueuedBytes: 5_000_000, gracePeriods: SHORT })
    subject.call('stop-reading')
    const calls = Array.from({ length: 20 }, () => subject.call('echo', { text: 'x'.repeat(1_000_000) }))
    const error = await subject.received.failure(calls.at(-1) as number)
    expect(error.code).toBe('OVERLOADED')
    expect(error.message).toContain('at most 5000000')
    subject.transport.send('{}')
    expect(subject.received.warnings).toEqual([expect.stringContaining('dropped')])
    expect(subject.received.reasons).toEqual([])
    // Abandoned requests free their space, unless the pipe has begun to take them.
    const refused = subject.received.failures.map(({ id }) => id)
    const queued = calls.filter((id) => !refused.includes(id))
    expect(queued.filter((id) => subject.transport.abandon(id)).length).toBeGreaterThan(queued.length / 2)
    subject.transport.send('{}')
    expect(subject.received.warnings).toHaveLength(1)
  })
})

describe('StdioTransport cannot start', () => {
  async function failure(changes: Partial<StdioServerConfig>): Promise<SallyportError> {
    const subject = prepare({ config: stdioConfig(changes), environment: { PATH: '/one:/two' } })
    return await subject.transport.open(subject.received).then(
      () => Promise.reject(new Error('it started')),
      (error: SallyportError) => error,
    )
  }

  it('a program that is not in PATH, and says where it searched', async () => {
    const error = await failure({ command: 'no-such-program' })
    expect(error.code).toBe('UPSTREAM_UNAVAILABLE')
    expect(error.message).toContain('no program no-such-program in PATH (/one:/two)')
    expect(error.hint).toContain('full path')
  })

  it('a file that does not exist', async () => {
    expect((await failure({ command: './absent', cwd: folder })).message).toContain(path.join(folder, 'absent'))
  })

  it('a file that may not be executed', async () => {
    const file = path.join(folder, 'plain.txt')
    writeFileSync(file, 'text')
    expect((await failure({ command: file })).hint).toContain('chmod +x')
  })

  it('a script whose interpreter is missing', async () => {
    const file = path.join(folder, 'script')
    writeFileSync(file, '#!/nonexistent/python\n')
    chmodSync(file, 0o755)
    expect((await failure({ command: file })).message).toContain('interpreter')
  })

  it('in a folder that is missing, or is not a folder', async () => {
    const file = path.join(folder, 'file')
    writeFileSync(file, '')
    expect((await failure({ cwd: '/nonexistent/folder' })).message).toContain('/nonexistent/folder does not exist')
    expect((await failure({ cwd: file })).message).toContain('is not a folder')
  })

  it.each([
    ['an argument', { args: ['secret-\0value'] }],
    ['a variable', { env: { TOKEN: 'secret-\0value' } }],
  ])('with a NUL in %s, and does not show the value', async (_where, changes) => {
    const error = await failure(changes)
    expect(error.message).toContain('NUL')
    expect(JSON.stringify([error.text, String(error.cause)])).not.toContain('secret')
  })

  it('with more arguments than the system takes', async () => {
    expect((await failure({ args: ['x'.repeat(10_000_000)] })).message).toContain('longer than the system allows')
  })

  it('when it is closed at the same time, and leaves nothing', async () => {
    const subject = prepare()
    const opened = subject.transport.open(subject.received)
    const closed = subject.transport.close()
    await expect(opened).rejects.toMatchObject({ code: 'UPSTREAM_UNAVAILABLE' })
    await closed
    expect(subject.received.reasons).toEqual([])
  })
})

describe('StdioTransport notices', () => {
  it('an exit, without showing the secret in the last output', async () => {
    const stderr = new StderrTail({ secrets: ['the database'] })
    const subject = await talk(hostileConfig('exit-at-start'), { stderr })
    expect(await subject.received.closed()).toBe('exited with code 3: cannot find •••')
  })

  it('an exit at the start, with the code and the last output', async () => {
    const subject = await talk(hostileConfig('exit-at-start'))
    expect(await subject.received.closed()).toBe('exited with code 3: cannot find the database')
    expect(subject.transport.pid).toBeUndefined()
  })

  it('a crash during a call', async () => {
    const subject = await talk()
    subject.call('die', { code: 9 })
    expect(await subject.received.closed()).toBe('exited with code 9: dying as told')
  })

  it('a kill from outside, without a call', async () => {
    const subject = await talk()
    await subject.callForText('echo')
    process.kill(subject.transport.pid as number, 'SIGKILL')
    expect(await subject.received.closed()).toBe('was killed by SIGKILL')
  })

  it('a last answer before the end', async () => {
    const subject = await talk()
    expect(await subject.callForText('answer-and-exit')).toBe('done')
    expect(await subject.received.closed()).toBe('exited with code 0')
  })

  it('a closed stdout, and ends the rest', async () => {
    const subject = await talk(stdioConfig(), { gracePeriods: SHORT })
    subject.call('close-stdout')
    expect(await subject.received.closed()).toBe('closed its stdout')
  })

  it('a closed stdin, and ends the rest', async () => {
    const subject = await talk(stdioConfig(), { gracePeriods: SHORT })
    await subject.callForText('close-stdin')
    subject.call('echo')
    expect(await subject.received.closed()).toBe('closed its stdin')
  })

  it('a crash only once, and refuses later messages', async () => {
    const subject = await talk()
    subject.call('kill-self')
    await subject.received.closed()
    const late = subject.call('echo')
    expect(await subject.received.failure(late)).toMatchObject({ code: 'UPSTREAM_GONE' })
    await subject.transport.close()
    expect(subject.received.reasons).toHaveLength(1)
  })

  it('the output of a later process without that of an earlier one', async () => {
    const first = await talk(hostileConfig('exit-at-start'))
    await first.received.closed()
    const second = await talk(stdioConfig(), { stderr: first.stderr })
    second.call('kill-self')
    expect(await second.received.closed()).toBe('was killed by SIGKILL')
  })

  it('the output of one process without that of another, and without our own messages', async () => {
    const dying = await talk()
    const other = await talk(hostileConfig('exit-at-start'), { stderr: dying.stderr })
    await other.received.closed()
    dying.stderr.push(Buffer.from('[sallyport] a message was dropped: Error: not JSON\n'))
    dying.call('kill-self')
    expect(await dying.received.closed()).toBe('was killed by SIGKILL')
  })
})

describe('StdioTransport leaves nothing behind', () => {
  const everything = ['grandchildren', 'daemon', 'bare-child']

  async function crowd(...switches: readonly string[]) {
    const subject = await talk(hostileConfig(...everything, ...switches), { gracePeriods: SHORT })
    await subject.callForText('echo')
    const mark = `${runMark}.hostile.${number}`
    const family = findProcesses({ mark, leader: subject.transport.pid as number }) ?? []
    expect(family.length).toBeGreaterThanOrEqual(4)
    return { subject, mark, family }
  }

  it.each([[[]], [['ignore-eof']], [['ignore-term']]])(
    'after close, of a server with %j',
    async (switches: string[]) => {
      const { subject, mark, family } = await crowd(...switches)
      await subject.transport.close()
      expect(findProcesses({ mark, known: family })).toEqual([])
      expect(subject.received.reasons).toEqual([])
    },
  )

  it('after the server was killed', async () => {
    const subject = await talk(hostileConfig('grandchildren', 'daemon'))
    await subject.callForText('echo')
    process.kill(subject.transport.pid as number, 'SIGKILL')
    await subject.received.closed()
    await subject.transport.close()
    expect(countMarked(`${runMark}.hostile.${number}`)).toBe(0)
  })

  it('not even descriptors, after many rounds', async () => {
    const count = () => readdirSync('/proc/self/fd').length
    const round = async () => {
      const subject = await talk(stdioConfig({ command: '/bin/cat', args: [] }))
      subject.transport.send('{"echo":1}')
      await subject.received.until(() => subject.received.messages[0])
      await subject.transport.close()
    }
    await round()
    const before = count()
    for (let index = 0; index < 10; index++) await round()
    expect(count()).toBeLessThanOrEqual(before)
  })

  it('and passes none of our pipe ends, including the watchdog’s, to a server', async () => {
    // What node calls a pipe is a pair of sockets.
    const pipes = (pid: number | 'self') =>
      readdirSync(`/proc/${pid}/fd`).flatMap((descriptor) => {
        const target = linkOf(`/proc/${pid}/fd/${descriptor}`)
        return target.startsWith('socket:') ? [target] : []
      })
    const first = await talk()
    const second = await talk()
    await Promise.all([first.callForText('echo'), second.callForText('echo')])
    const ours = new Set(pipes('self'))
    expect(ours.size).toBeGreaterThanOrEqual(7)
    for (const { transport } of [first, second]) {
      expect(pipes(transport.pid as number).filter((pipe) => ours.has(pipe))).toEqual([])
    }
  })
})

function linkOf(file: string): string {
  try {
    return readlinkSync(file)
  } catch {
    return ''
  }
}
