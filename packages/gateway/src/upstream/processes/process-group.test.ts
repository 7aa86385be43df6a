import { once } from 'node:events'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { countMarked, freshMark } from '../stdio/stdio.test-kit.ts'
import { openProcessGroup, type ProcessGroup } from './process-group.ts'
import { sweepProcesses } from './process-sweep.ts'
import { readProcessTable } from './process-table.ts'
import { openWatchdog, type Watchdog } from './watchdog.ts'

const runMark = freshMark()
const SHORT = { afterInputEnds: 50, afterTerminate: 50 }
const LONG = { afterInputEnds: 50_000, afterTerminate: 50_000 }
let watchdog: Watchdog
let number = 0

beforeAll(() => {
  watchdog = openWatchdog({ environment: process.env, runMark })
})

afterEach(() => sweepProcesses({ mark: runMark }))

afterAll(() => watchdog.close())

/** Waits for every `say` of the script. */
async function start(
  script: string,
  gracePeriods = LONG,
): Promise<{ group: ProcessGroup; mark: string; output: string }> {
  const mark = `${runMark}.db.${++number}`
  const env = { PATH: process.env.PATH ?? '', SALLYPORT_MARK: mark }
  const args = ['-c', script.replaceAll('say', 'echo ready')]
  const group = await openProcessGroup({ command: '/bin/sh', args, cwd: undefined, env, mark, watchdog, gracePeriods })
  group.stderr.resume()
  let output = ''
  while (output.split('ready').length < script.split('say').length) output += (await once(group.stdout, 'data'))[0]
  return { group, mark, output }
}

function alive(pid: number): boolean {
  return readProcessTable()?.some((entry) => entry.pid === pid) ?? false
}

function pidIn(text: string): number {
  return Number(/pid=(\d+)/.exec(text)?.[1])
}

describe('ProcessGroup', () => {
  it('leads a session and a group of its own', async () => {
    const { group } = await start('say; cat')
    const entry = readProcessTable()?.find(({ pid }) => pid === group.pid)
    expect(entry).toMatchObject({ group: group.pid, session: group.pid })
    await group.end()
  })

  it('ends a program that exits at the end of its input without any signal', async () => {
    const { group } = await start('say; cat')
    expect(await group.end()).toMatchObject({ left: 0 })
    expect(await group.exited).toEqual({ code: 0, signal: null })
  })

  it('terminates a program that ignores the end of its input', async () => {
    const { group } = await start('trap "exit 7" TERM; say; while :; do sleep 0.01; done', {
      ...LONG,
      afterInputEnds: 20,
    })
    await group.end()
    expect(await group.exited).toEqual({ code: 7, signal: null })
  })

  it('kills a program that ignores everything, and its children with it', async () => {
    const { group, mark } = await start('trap "" TERM; sh -c "say; sleep 1000" & say; while :; do sleep 1; done', SHORT)
    expect(await group.end()).toMatchObject({ left: 0 })
    expect(await group.exited).toEqual({ code: null, signal: 'SIGKILL' })
    expect(countMarked(mark)).toBe(0)
  })

  it('lets the children of a program that exits by itself exit by themselves too', async () => {
    const { group, mark } = await start(
      'setsid sh -c \'trap "echo bye; exit" TERM; say; while :; do sleep 0.01; done\' & say; cat',
    )
    const output: string[] = []
    group.stdout.on('data', (chunk) => output.push(String(chunk)))
    await group.end()
    expect(output.join('')).toContain('bye')
    expect(countMarked(mark)).toBe(0)
  })

  it('finds daemons that left the session, and a child that also dropped its environment', async () => {
    const daemon = '(setsid sh -c "say; sleep 1000" &)'
    const bare = 'setsid env -i sh -c "echo pid=\\$\\$; say; exec sleep 1000" &'
    const { group, mark, output } = await start(`${daemon}; ${bare} say; cat`, SHORT)
    await group.end()
    expect(countMarked(mark)).toBe(0)
    expect(alive(pidIn(output))).toBe(false)
  })

  it('cleans up after a program that died by itself', async () => {
    const { group, mark } = await start('sh -c "say; sleep 1000" & setsid sh -c "say; sleep 1000" & say; cat')
    process.kill(group.pid, 'SIGKILL')
    await expect.poll(() => countMarked(mark)).toBe(0)
    expect(await group.end()).toMatchObject({ left: 0 })
  })

  it('closes its pipes even if an escaped process holds them open', async () => {
    const { group, output } = await start('(setsid env -i sh -c "echo pid=\\$\\$; say; exec sleep 1000" &); read line')
    process.kill(group.pid, 'SIGKILL')
    await group.end()
    await group.closed
    expect([group.stdin, group.stdout, group.stderr].every((pipe) => pipe.destroyed)).toBe(true)
    process.kill(pidIn(output), 'SIGKILL')
  })

  it('ends once, however often `close` is called', async () => {
    const { group } = await start('say; cat')
    expect(group.end()).toBe(group.end())
    await group.end()
  })

  it('ends a suspended program', async () => {
    const { group, mark } = await start('say; cat', SHORT)
    process.kill(group.pid, 'SIGSTOP')
    expect(await group.end()).toMatchObject({ left: 0 })
    expect(countMarked(mark)).toBe(0)
  })

  it('rejects with the error of the system when there is no such program', async () => {
    const options = { command: '/nonexistent', args: [], cwd: undefined, env: {}, mark: runMark, watchdog }
    await expect(openProcessGroup(options)).rejects.toMatchObject({ code: 'ENOENT' })
  })
})
