import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { roundsOf } from '../../../../tests/harness/rounds.ts'
import { scratchFolder, startChild } from './scratch.test-kit.ts'
import { lockState, type StateLock } from './state-lock.ts'

const RACES = roundsOf({ few: 5, many: 15, all: 50 })

const options = { version: '0.0.1', home: '/somewhere' }

async function take(state: string): Promise<StateLock> {
  const lock = await lockState(state, options)
  if (lock.held) throw new Error('the state is held')
  onTestFinished(() => lock.release())
  return lock
}

test('a state has one holder at a time, who is named, and can be locked again after the release', async () => {
  const state = join(scratchFolder(), 'new')
  const lock = await take(state)
  const info = join(state, 'gateway.json')
  expect(JSON.parse(readFileSync(info, 'utf8'))).toMatchObject({ pid: process.pid, ...options })
  expect(statSync(info).mode & 0o777).toBe(0o600)
  for (let count = 0; count < 3; count++)
    expect(await lockState(state, options)).toMatchObject({ held: true, holder: { pid: process.pid, ...options } })
  const other = startChild('lock', state)
  expect(await other.nextMessage()).toMatchObject({ held: true, holder: { pid: process.pid } })
  lock.release()
  lock.release()
  expect(existsSync(info)).toBe(false)
  await take(state)
})

test('kill -9 of the holder releases the state, and a dead holder is not named', async () => {
  const state = scratchFolder()
  for (let round = 0; round < 5; round++) {
    const holder = startChild('lock', state)
    expect(await holder.nextMessage()).toEqual({ held: false })
    expect(await lockState(state, options)).toMatchObject({ held: true, holder: { pid: holder.process.pid } })
    await holder.kill()
  }
  const dead = readFileSync(join(state, 'gateway.json'))
  await take(state)
  writeFileSync(join(state, 'gateway.json'), dead)
  expect(await lockState(state, options)).toEqual({ held: true, holder: undefined })
})

test('a process that the holder started does not keep the lock when the holder is killed', async () => {
  const state = scratchFolder()
  const holder = startChild('parent', state)
  const { held, heir } = (await holder.nextMessage()) as { readonly held: boolean; readonly heir: number }
  onTestFinished(() => {
    process.kill(heir, 'SIGKILL')
  })
  expect(held).toBe(false)
  expect(await lockState(state, options)).toMatchObject({ held: true })
  await holder.kill()
  expect(process.kill(heir, 0)).toBe(true)
  await take(state)
})

test(`exactly one of two racing processes wins, ${RACES} times`, async () => {
  const state = scratchFolder()
  for (let round = 0; round < RACES; round++) {
    const racers = [startChild('race', state), startChild('race', state)]
    for (const racer of racers) expect(await racer.nextMessage()).toBe('ready')
    for (const racer of racers) racer.process.stdin.write('go\n')
    expect((await Promise.all(racers.map((racer) => racer.nextMessage()))).toSorted()).toEqual([false, true])
    await Promise.all(racers.map((racer) => racer.kill()))
  }
}, 180_000)

test('exactly one of two attempts in one process wins, 50 times', async () => {
  const state = scratchFolder()
  for (let round = 0; round < 50; round++) {
    const locks = await Promise.all([lockState(state, options), lockState(state, options)])
    const won = locks.filter((lock): lock is StateLock => !lock.held)
    expect(won).toHaveLength(1)
    for (const lock of won) lock.release()
  }
})

test('the release does not remove the name of another holder if the state was moved meanwhile', async () => {
  const state = scratchFolder()
  const lock = await take(state)
  const info = join(state, 'gateway.json')
  writeFileSync(info, '{"pid":1}\n')
  lock.release()
  expect(readFileSync(info, 'utf8')).toBe('{"pid":1}\n')
})
