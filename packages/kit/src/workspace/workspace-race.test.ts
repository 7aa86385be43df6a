import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createWorkspace } from './workspace.ts'

// Puts the second thing in the place of the first and back, as fast as it can, until its input ends.
const SWAPPER = `
  const { renameSync } = require('node:fs')
  const [place, other] = process.argv.slice(1)
  process.stdin.on('end', () => process.exit()).resume()
  const round = () => {
    for (let n = 0; n < 200; n++) {
      renameSync(place, place + '.kept')
      renameSync(other, place)
      renameSync(place, other)
      renameSync(place + '.kept', place)
    }
    setImmediate(round)
  }
  process.stdout.write('ready')
  round()
`

let home: string
let swapper: ChildProcess | undefined

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'race-'))
  await mkdir(join(home, 'root/dir'), { recursive: true })
  await mkdir(join(home, 'outside'))
  await writeFile(join(home, 'root/dir/file'), 'INSIDE')
  await writeFile(join(home, 'outside/file'), 'OUTSIDE')
})

afterEach(async () => {
  if (swapper !== undefined) {
    swapper.stdin?.end()
    await once(swapper, 'exit')
    swapper = undefined
  }
  await rm(home, { recursive: true })
})

async function swap(place: string, other: string): Promise<void> {
  swapper = spawn(process.execPath, ['-e', SWAPPER, join(home, place), join(home, other)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  await once(swapper.stdout as NodeJS.ReadableStream, 'data')
}

/** Counts what was read until both outcomes were seen often enough for the race to have been one. */
async function readMany(path: string): Promise<{ inside: number; outside: number; refused: number }> {
  const workspace = createWorkspace(join(home, 'root'))
  const seen = { inside: 0, outside: 0, refused: 0 }
  const readOnce = async (): Promise<void> => {
    const content = await workspace.readFile(path).then(
      ({ bytes }) => bytes.toString(),
      () => 'refused',
    )
    if (content === 'INSIDE') seen.inside++
    else if (content === 'refused') seen.refused++
    else seen.outside++
  }
  for (let reads = 0; reads < 8_000 || (reads < 80_000 && Math.min(seen.inside, seen.refused) < 100); reads += 8)
    await Promise.all(Array.from({ length: 8 }, readOnce))
  return seen
}

test.runIf(process.platform === 'linux')(
  'a directory that keeps turning into a link never lets a read out',
  async () => {
    await symlink(join(home, 'outside'), join(home, 'root/link'))
    await swap('root/dir', 'root/link')
    const seen = await readMany('/workspace/dir/file')
    expect(seen.outside).toBe(0)
    expect(seen.inside).toBeGreaterThan(0)
    expect(seen.refused).toBeGreaterThan(0)
  },
)

test.runIf(process.platform === 'linux')('a file that keeps turning into a link never lets a read out', async () => {
  await symlink(join(home, 'outside/file'), join(home, 'root/dir/link'))
  await swap('root/dir/file', 'root/dir/link')
  const seen = await readMany('/workspace/dir/file')
  expect(seen.outside).toBe(0)
  expect(seen.inside).toBeGreaterThan(0)
  expect(seen.refused).toBeGreaterThan(0)
})
