import type { NetworkMode } from '@sallyport/core'
import { expect, it } from 'vitest'
import { type EndedProcess, type WideProcess, WideProcesses } from './wide-processes.ts'

/** A process that ends when the test says so. */
function createProcess(session: string, own: Partial<WideProcess> = {}) {
  const told: string[] = []
  let end = (): void => {}
  const closed = new Promise<void>((resolve) => {
    end = resolve
  })
  const mode: { now: NetworkMode } = { now: 'FULL' }
  const process: WideProcess = {
    ...{ server: 'wide', isUnsandboxed: false, session, closed, networkMode: () => mode.now },
    retire: () => void told.push('retire'),
    kill: (reason) => void told.push(`kill: ${reason}`),
    ...own,
  }
  return { process, told, end, mode }
}

function createAll(times: { readonly drainTimeoutMs?: number; readonly endTimeoutMs?: number } = {}) {
  const ended: EndedProcess[] = []
  return { ended, wide: new WideProcesses({ ...times, onEnded: (one) => void ended.push(one) }) }
}

it('has nothing to wait for as long as the session allows everything', () => {
  const { wide } = createAll()
  const { process, told } = createProcess('one')
  wide.add(process)
  wide.narrow()
  expect(wide.ending('one')).toBeUndefined()
  expect(wide.isEnding).toBe(false)
  expect(told).toEqual([])
})

it('lets a session wait until its process is dead, and no other session', async () => {
  const { wide, ended } = createAll()
  const [one, other] = [createProcess('one'), createProcess('other')]
  for (const { process } of [one, other]) wide.add(process)
  one.mode.now = 'PROXIED'
  wide.narrow()
  // A second rise changes nothing for a process that ends anyway.
  one.mode.now = 'NONE'
  wide.narrow()
  expect(one.told).toEqual(['retire'])
  expect(wide.ending('other')).toBeUndefined()
  let hasEnded = false
  const waiting = wide.ending('one')?.then(() => {
    hasEnded = true
  })
  await new Promise(setImmediate)
  expect(hasEnded).toBe(false)
  one.end()
  await waiting
  expect(wide.ending('one')).toBeUndefined()
  expect(ended).toEqual([expect.objectContaining({ server: 'wide', to: 'PROXIED', took_us: expect.any(Number) })])
})

it('kills a process that does not end', async () => {
  const { wide } = createAll({ drainTimeoutMs: 1 })
  const killed = new Promise<string>((kill) => {
    const { process, mode } = createProcess('one', { kill })
    mode.now = 'NONE'
    wide.add(process)
  })
  expect(await killed).toContain('network mode NONE')
})

it('rejects if a process cannot be ended, and goes on to say so', async () => {
  const { wide } = createAll({ drainTimeoutMs: 1, endTimeoutMs: 5 })
  const { process, mode, end } = createProcess('one')
  mode.now = 'NONE'
  wide.add(process)
  await expect(wide.ending('one')).rejects.toThrow('could not be ended')
  await expect(wide.ending('one')).rejects.toThrow('could not be ended')
  end()
  await expect.poll(() => wide.isEnding).toBe(false)
})

it('ends the others if one cannot be asked, or its label cannot be read', () => {
  const { wide } = createAll()
  const broken = createProcess('one', {
    retire: () => {
      throw new Error('broken')
    },
  })
  const unread = createProcess('two', {
    networkMode: () => {
      throw new Error('unread')
    },
  })
  const last = createProcess('three')
  for (const { process, mode } of [broken, unread, last]) {
    mode.now = 'FULL'
    wide.add(process)
  }
  for (const { mode } of [broken, last]) mode.now = 'NONE'
  wide.narrow()
  expect(broken.told).toEqual([expect.stringContaining('kill')])
  expect(unread.told).toEqual(['retire'])
  expect(last.told).toEqual(['retire'])
})
