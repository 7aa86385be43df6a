import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { makeFolder } from '../governance/governed-bench.ts'
import { eventually } from '../harness/processes.ts'
import { roundsOf } from '../harness/rounds.ts'
import { StdioClient } from '../harness/stdio-client.ts'
import { promise } from '../promises.ts'

const FIXTURE = fileURLToPath(new URL('../fixtures/keeping-server.mjs', import.meta.url))
const CANARY = `Ada earns ${randomBytes(9).toString('hex')} a year`
const ROUNDS = roundsOf({ few: 4, many: 12, all: 100 })

const listFiles = (folder: string): readonly string[] =>
  (existsSync(folder) ? readdirSync(folder, { recursive: true, withFileTypes: true }) : [])
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))

const findCanary = (folder: string): readonly string[] =>
  listFiles(folder).filter((path) => {
    // A file may be renamed between the two.
    return existsSync(path) && readFileSync(path).includes(CANARY)
  })

async function open(folder: string): Promise<StdioClient> {
  const env = {
    ...{ PATH: process.env.PATH, CANARY, SALLYPORT_SESSION_ID: 'one' },
    ...{ SALLYPORT_DATA: join(folder, 'data'), SALLYPORT_KEYS: join(folder, 'keys') },
  }
  const client = new StdioClient(spawn(process.execPath, [FIXTURE], { env, stdio: 'pipe' }))
  await client.initialize()
  return client
}

async function checkFiles(folder: string): Promise<string> {
  const client = await open(folder)
  const { content } = await client.call('check')
  await client.leave()
  return content[0].text
}

it(`${promise('SEN-23')} files that are written after the data was stated are never in the clear, whenever the server is killed, and are whole or absent`, async () => {
  const found = new Set<string>()
  for (let round = 0; round < ROUNDS; round++) {
    const { path, remove } = makeFolder()
    const client = await open(path)
    const answered = client.call('state_and_write').catch(() => undefined)
    const workspaces = join(path, 'data', 'workspaces')
    await eventually(
      () => listFiles(workspaces).length,
      (count) => count > 0,
    )
    for (let turn = 0; turn < round * 20; turn++) await new Promise(setImmediate)
    await client.kill()
    await answered
    expect(findCanary(path)).toEqual([])
    const files = await checkFiles(path)
    expect(files).toMatch(/^[0-4] whole$/)
    found.add(files)
    remove()
  }
  expect([...found]).not.toEqual(['0 whole'])
})

it(`${promise('SEN-23')} files that the same call wrote before it stated its data are encrypted once it is answered`, async () => {
  const { path, remove } = makeFolder()
  const client = await open(path)
  expect(await client.call('write_and_state')).toMatchObject({ content: [{ text: 'written' }] })
  await client.kill()
  expect(findCanary(path)).toEqual([])
  expect(await checkFiles(path)).toBe('4 whole')
  remove()
})
