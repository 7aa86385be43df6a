import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, readlinkSync } from 'node:fs'
import { afterEach, describe, expect, it } from 'vitest'
import { countMarked, freshMark } from '../stdio/stdio.test-kit.ts'
import { sweepProcesses } from './process-sweep.ts'
import { readProcessTable } from './process-table.ts'
import { openWatchdog, WATCHDOG_SCRIPT, type Watchdog, type WatchdogOptions } from './watchdog.ts'

const open: Watchdog[] = []
const marks: string[] = []
const sleepers: number[] = []

function watch(options: Partial<WatchdogOptions> & Pick<WatchdogOptions, 'runMark'>): Watchdog {
  const watchdog = openWatchdog({ environment: process.env, ...options })
  open.push(watchdog)
  return watchdog
}

function newMark(): string {
  const mark = freshMark()
  marks.push(mark)
  return mark
}

afterEach(async () => {
  await Promise.all(open.splice(0).map((watchdog) => watchdog.close()))
  const leaders = sleepers.splice(0).map((leader) => sweepProcesses({ mark: freshMark(), leader }))
  await Promise.all([...leaders, ...marks.splice(0).map((mark) => sweepProcesses({ mark }))])
})

async function sleeper(script: string, env: NodeJS.ProcessEnv = {}): Promise<ChildProcess> {
  const child = spawn('/bin/sh', ['-c', `${script}\necho ready; sleep 1000`], {
    detached: true,
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  sleepers.push(child.pid as number)
  await once(child.stdout as NodeJS.ReadableStream, 'data')
  return child
}

/** The script with a pipe of the test, which the test can end like the death of a gateway. */
function script(mark: string, env: NodeJS.ProcessEnv = { PATH: process.env.PATH }, shell = '/bin/sh') {
  return spawn(shell, ['-c', WATCHDOG_SCRIPT, 'watchdog', mark], {
    detached: true,
    env,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
}

const shells = ['/bin/sh', '/bin/bash'].filter((shell) => spawnSync(shell, ['-c', ':']).status === 0)

describe('the watchdog', () => {
  it('lives in a session of its own, without our mark, our terminal or our pipes, in about a megabyte', async () => {
    const runMark = newMark()
    const watchdog = watch({ runMark, environment: { PATH: process.env.PATH, SECRET: 'x' } })
    const pid = watchdog.pid as number
    const entry = readProcessTable()?.find((one) => one.pid === pid)
    expect(entry?.session).toBe(pid)
    expect(readFileSync(`/proc/${pid}/environ`, 'utf8')).not.toMatch(/SECRET|SALLYPORT_MARK/)
    expect([1, 2].map((descriptor) => readlinkSync(`/proc/${pid}/fd/${descriptor}`))).toEqual([
      '/dev/null',
      '/dev/null',
    ])
    const resident = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
    expect(Number(resident)).toBeLessThan(5_000)
  })

  it('exits when it is closed and nothing is watched', async () => {
    const runMark = newMark()
    const child = await sleeper('', { SALLYPORT_MARK: `${runMark}.db.1` })
    const watchdog = watch({ runMark })
    watchdog.watch(999_999)
    watchdog.release(999_999)
    const { pid } = watchdog
    await watchdog.close()
    expect(readProcessTable()?.some((entry) => entry.pid === pid)).toBe(false)
    expect(child.signalCode).toBeNull()
  })

  it('ends the groups that are still watched when it is closed', async () => {
    const watchdog = watch({ runMark: newMark() })
    const child = await sleeper('')
    const exited = once(child, 'exit')
    watchdog.watch(child.pid as number)
    await watchdog.close()
    expect((await exited)[1]).toBe('SIGKILL')
  })

  it('is replaced when it is killed, and the new one knows what to watch', async () => {
    const child = await sleeper('')
    const exited = once(child, 'exit')
    let report: (text: string) => void
    const warning = new Promise<string>((resolve) => {
      report = resolve
    })
    const watchdog = watch({ runMark: newMark(), onWarning: (text) => report(text) })
    watchdog.watch(child.pid as number)
    const first = watchdog.pid as number
    process.kill(first, 'SIGKILL')
    expect(await warning).toContain('SIGKILL')
    expect(watchdog.pid).not.toBe(first)
    await watchdog.close()
    expect((await exited)[1]).toBe('SIGKILL')
  })

  it('survives the signals that end a terminal or a service', async () => {
    const child = script(newMark())
    const ignored = () => /SigIgn:\s+(\w+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]
    await expect.poll(() => Number.parseInt(ignored() ?? '', 16) & 0x4007).toBe(0x4007)
    for (const signal of ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM'] as const) child.kill(signal)
    child.stdin.end('.\n')
    expect(await once(child, 'exit')).toEqual([0, null])
  })

  it('reports that it cannot be started, and keeps trying without keeping our process alive', async () => {
    const troubles: string[] = []
    await new Promise<void>((resolve) => {
      const onWarning = (text: string) => {
        if (troubles.push(text) === 2) resolve()
      }
      watch({ runMark: newMark(), shell: '/nonexistent/sh', onWarning })
    })
    expect(troubles[1]).toContain('ENOENT')
  })

  it('can be closed while it is suspended', async () => {
    const watchdog = watch({ runMark: newMark() })
    process.kill(watchdog.pid as number, 'SIGSTOP')
    await watchdog.close()
    expect(watchdog.pid).toBeDefined()
  })
})

describe.each(shells)('the script of the watchdog in %s', (shell) => {
  it('ends groups, sessions and everything marked when its pipe ends without a final message', async () => {
    const mark = newMark()
    const group = await sleeper('set -m; env -i sleep 1000 & setsid sleep 1000 &', { SALLYPORT_MARK: `${mark}.db.1` })
    const daemon = await sleeper('', { A: '1', SALLYPORT_MARK: `other.1.x.1 ${mark}.db.2` })
    const bystander = await sleeper('', { SALLYPORT_MARK: `${mark}0.db.1` })
    const exits = [once(group, 'exit'), once(daemon, 'exit')]
    const child = script(mark, undefined, shell)
    child.stdin.end(`+${group.pid}\n+999998\n-999998\n`)
    await once(child, 'exit')
    await Promise.all(exits)
    expect(countMarked(`${mark}.db`)).toBe(0)
    expect(readProcessTable()?.filter(({ session }) => session === group.pid)).toEqual([])
    expect(bystander.signalCode).toBeNull()
  })

  it('finds marked processes without grep', async () => {
    const mark = newMark()
    const daemon = await sleeper('', { A: 'with\nbreak', SALLYPORT_MARK: `${mark}.db.2` })
    const exited = once(daemon, 'exit')
    const child = script(mark, { PATH: '/nonexistent' }, shell)
    child.stdin.end()
    expect((await exited)[1]).toBe('SIGKILL')
    await once(child, 'exit')
  })

  it('releases a group in whatever order they came', async () => {
    const [first, second] = await Promise.all([sleeper(''), sleeper('')])
    const exited = once(second, 'exit')
    const child = script(newMark(), undefined, shell)
    child.stdin.end(`+${first.pid}\n+${second.pid}\n-${first.pid}\n-12345678\n`)
    await once(child, 'exit')
    expect((await exited)[1]).toBe('SIGKILL')
    expect(first.signalCode).toBeNull()
  })
})
