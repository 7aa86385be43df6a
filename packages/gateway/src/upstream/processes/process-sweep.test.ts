import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { afterEach, describe, expect, it } from 'vitest'
import { countMarked, freshMark } from '../stdio/stdio.test-kit.ts'
import { findProcesses, sweepProcesses } from './process-sweep.ts'

const started: ChildProcess[] = []

/** Runs until killed. Waits for every `say` of the script, including the last. */
async function run(script: string, env: NodeJS.ProcessEnv = {}): Promise<ChildProcess> {
  const whole = `${script.replaceAll('say', 'echo ready')}\necho ready; exec sleep 1000`
  const child = spawn('/bin/sh', ['-c', whole], {
    detached: true,
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  started.push(child)
  const expected = whole.split('echo ready').length - 1
  let output = ''
  for await (const chunk of child.stdout as NodeJS.ReadableStream) {
    output += chunk
    if (output.split('ready').length > expected) break
  }
  return child
}

afterEach(() => {
  for (const { pid } of started.splice(0)) {
    try {
      process.kill(-(pid as number), 'SIGKILL')
    } catch {
      // The test itself has ended it.
    }
  }
})

function hasZombie(parent: number): boolean {
  const { stdout } = spawnSync('/bin/sh', ['-c', `cat /proc/[0-9]*/stat | grep -c ') Z ${parent} '`])
  return Number(stdout) > 0
}

describe('sweepProcesses', () => {
  it('ends everything with the mark, in whatever session it is', async () => {
    const mark = freshMark('db', '1')
    await run('setsid sh -c "sleep 1000 & sleep 1000" & setsid sleep 1000 &', { SALLYPORT_MARK: mark })
    const result = await sweepProcesses({ mark })
    expect(result).toMatchObject({ reach: 'everything', left: 0 })
    expect(result.killed).toBeGreaterThanOrEqual(3)
    expect(countMarked(mark)).toBe(0)
  })

  it('finds the mark after any other variable and beside the mark of a gateway above', async () => {
    const mark = freshMark('db', '1')
    await run('', { AAA: 'line\nbreak', SALLYPORT_MARK: `${freshMark('outer')} ${mark}`, ZZZ: 'x' })
    expect((await sweepProcesses({ mark })).killed).toBeGreaterThan(0)
  })

  it('ends a whole run by the first parts of its marks, and no run with a similar name', async () => {
    const [one, ten] = [freshMark(), freshMark()]
    const spared = await run('', { SALLYPORT_MARK: `${one}0.db.1 ${ten}.db.1` })
    await run('', { SALLYPORT_MARK: `${one}.db.1` })
    await sweepProcesses({ mark: one })
    expect(countMarked(`${one}.db`)).toBe(0)
    expect(spared.exitCode ?? spared.signalCode).toBeNull()
  })

  it('finds a child that dropped its environment and its session as long as its parent lives', async () => {
    const mark = freshMark('db', '1')
    const child = await run('setsid env -i sh -c "say; exec sleep 1000" &', { SALLYPORT_MARK: mark })
    const found = findProcesses({ mark, leader: child.pid as number }) ?? []
    expect(found.some(({ session }) => session !== child.pid)).toBe(true)
    child.kill('SIGKILL')
    await once(child, 'exit')
    expect(await sweepProcesses({ mark, leader: child.pid as number, known: found })).toMatchObject({ left: 0 })
    expect(findProcesses({ mark, known: found })).toEqual([])
  })

  it('finds processes without a mark by session and group', async () => {
    const child = await run('sleep 1000 &')
    const target = { mark: freshMark(), leader: child.pid as number }
    expect(findProcesses(target)?.length).toBe(2)
    expect(await sweepProcesses(target)).toMatchObject({ left: 0 })
    expect(findProcesses(target)).toEqual([])
  })

  it('does not wait for a zombie process', async () => {
    const mark = freshMark('db', '1')
    // The inner shell dies once its parent has become `sleep`, which never waits for it.
    const orphan = "sh -c 'until grep -q sleep /proc/$PPID/comm; do :; done' &"
    const child = await run(orphan, { SALLYPORT_MARK: mark })
    await expect.poll(() => hasZombie(child.pid as number)).toBe(true)
    const zombies = { mark: freshMark(), leader: child.pid as number }
    expect(findProcesses(zombies)?.map(({ pid }) => pid)).toEqual([child.pid])
  })

  it('never kills the given processes, ourselves and our ancestors', async () => {
    const mark = freshMark('db', '1')
    const child = await run('', { SALLYPORT_MARK: mark })
    const exclude = (findProcesses({ mark }) ?? []).map(({ pid }) => pid)
    expect(exclude).toContain(child.pid)
    expect(findProcesses({ mark, exclude })).toEqual([])
    expect(findProcesses({ mark, leader: process.pid })?.some(({ pid }) => pid === process.pid)).toBe(false)
  })

  it('is faster than a process that keeps starting others', async () => {
    const mark = freshMark('db', '1')
    await run('breed() { while :; do setsid sleep 1000 & sleep 0.01; done; }; breed & breed &', {
      SALLYPORT_MARK: mark,
    })
    expect(await sweepProcesses({ mark })).toMatchObject({ left: 0 })
    expect(countMarked(mark)).toBe(0)
  })

  it('ends only the group, and reports that, if the system shows no environments', async () => {
    const child = await run('sleep 1000 &')
    const exited = once(child, 'exit')
    const target = { mark: freshMark(), leader: child.pid as number, processFiles: '/nonexistent' }
    expect(await sweepProcesses(target)).toEqual({ reach: 'group', killed: 0, left: 0 })
    expect((await exited)[1]).toBe('SIGKILL')
  })
})
