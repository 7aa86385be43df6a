/**
 * What it costs to encrypt stored results: CPU for one result of each size, alone, and as a part of saving it and of
 * reading one page of it.
 *
 *   npm run build && node bench/sealing.mjs
 */
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createWorkspace, openResultStore, readResult, SessionKeys } from '../packages/kit/dist/index.js'
import { openSealed, sealBytes } from '../packages/kit/dist/keys/keys.js'

const SIZES = [1_000, 100_000, 10_000_000]
const seal = { key: randomBytes(32), name: 'results/one.txt' }

/** The median CPU time of one run, in milliseconds. */
async function measure(runs, work) {
  await work()
  const times = []
  for (let run = 0; run < runs; run++) {
    const before = process.cpuUsage()
    await work()
    const { user, system } = process.cpuUsage(before)
    times.push((user + system) / 1_000)
  }
  return times.sort((one, other) => one - other)[Math.floor(runs / 2)]
}

/** Short work is repeated, since the clock of the CPU is coarse. */
const repeat = (count, work) => async () => {
  for (let index = 0; index < count; index++) await work()
}

async function measureSize(size, folder) {
  const text = 'a line of a usual length, with some words in it\n'.repeat(Math.ceil(size / 48)).slice(0, size)
  const bytes = Buffer.from(text)
  const sealed = sealBytes(bytes, seal)
  const stored = { size: sealed.length, read: async (offset, length) => sealed.subarray(offset, offset + length) }
  const count = Math.max(1, Math.floor(1_000_000 / size))
  const row = { bytes: size }
  row['encrypt, ms'] =
    (await measure(
      21,
      repeat(count, () => sealBytes(bytes, seal)),
    )) / count
  const openAll = async () => (await openSealed(stored, seal)).read(0, size)
  row['decrypt, ms'] = (await measure(21, repeat(count, openAll))) / count
  const keys = { folder: join(folder, 'keys'), notInside: [], dataFolder: join(folder, 'data'), environment: {} }
  for (const name of ['plain', 'encrypted']) {
    const root = join(folder, `${name}-${size}`)
    mkdirSync(root)
    const workspace = createWorkspace(root, name === 'plain' ? {} : { sessionKey: new SessionKeys(keys).of('ada') })
    const store = openResultStore({ workspace })
    row[`save ${name}, ms`] = await measure(21, () => store.save(text))
    const { handle } = await store.save(text)
    row[`page ${name}, ms`] = await measure(21, () => readResult(store, { handle, lines: '10-20' }))
  }
  return Object.fromEntries(Object.entries(row).map(([key, value]) => [key, Number(value.toPrecision(3))]))
}

const folder = mkdtempSync(join(tmpdir(), 'sallyport-bench-sealing-'))
try {
  const rows = []
  for (const size of SIZES) rows.push(await measureSize(size, folder))
  console.table(rows)
} finally {
  rmSync(folder, { recursive: true })
}
