import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { isAtLeast, LOWEST_SENSITIVITY, type Sensitivity } from '@sallyport/core'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Label } from './label.ts'
import { openLabelStore } from './label-store.ts'

const OWNER = { userId: 'ada', sessionId: 'one' }

/** Raises one dataset after the other, and says each once it is durable. */
const WRITER = `
  import { openLabelStore } from '@sallyport/kit'
  const [folder, name, highest] = process.argv.slice(1)
  const levels = ['PUBLIC', 'INTERNAL', 'CONFIDENTIAL', 'SECRET'].slice(0, Number(highest))
  const store = openLabelStore(folder)
  for (let index = 0; ; index++) {
    const dataset = index % 3 === 0 ? 'shared' : name + process.pid + '-' + index
    const level = levels[Math.floor(Math.random() * levels.length)]
    await store.raise({ userId: 'ada', sessionId: 'one' }, dataset, level)
    console.log(dataset + ' ' + level)
  }
`

let folder: string
let writers: ChildProcess[]

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'label-writers-'))
  writers = []
})

afterEach(async () => {
  for (const writer of writers) await end(writer)
  await rm(folder, { recursive: true, force: true })
})

async function end(writer: ChildProcess): Promise<void> {
  if (writer.exitCode !== null || writer.signalCode !== null) return
  const gone = once(writer, 'exit')
  writer.kill('SIGKILL')
  await gone
}

interface Raised {
  readonly name: string
  readonly sensitivity: Sensitivity
}

function startWriter(name: string, highest: number, onRaised: (raised: Raised) => void): ChildProcess {
  const args = ['--input-type=module', '-e', WRITER, folder, name, String(highest)]
  const writer = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'], cwd: import.meta.dirname })
  createInterface({ input: writer.stdout as NodeJS.ReadableStream }).on('line', (line) => {
    const [dataset = '', level] = line.split(' ')
    onRaised({ name: dataset, sensitivity: level as Sensitivity })
  })
  writers.push(writer)
  return writer
}

test('what several processes raised is there completely and at its maximum, though each was killed while it wrote', async () => {
  const raised: Raised[] = []
  let heard = (): void => undefined
  const start = (name: string, highest: number): ChildProcess =>
    startWriter(name, highest, (each) => {
      raised.push(each)
      heard()
    })
  start('a', 2)
  start('b', 3)
  const reader = openLabelStore(folder)
  let last: Sensitivity = LOWEST_SENSITIVITY
  for (let killed = 0; killed < 8; ) {
    await new Promise<void>((resolve) => {
      heard = resolve
    })
    // Whatever has been said to be durable is seen by the very next reading of another process.
    const known = raised.at(-1) as Raised
    const label = await reader.read(OWNER)
    expect(label).not.toHaveProperty('problem')
    expectRaised(label, known)
    expect(isAtLeast(label.sensitivity, last)).toBe(true)
    last = label.sensitivity
    if (raised.length < 15 * (killed + 1)) continue
    await end(writers[killed++] as ChildProcess)
    start(String(killed), 3)
  }
  await Promise.all(writers.map(end))
  const after = await openLabelStore(folder).read(OWNER)
  for (const each of raised) expectRaised(after, each)
  // Nobody said SECRET: what a killed writer left behind is not taken for more than was meant.
  expect(after.sensitivity).toBe('CONFIDENTIAL')
  expect(await openLabelStore(folder).raise(OWNER, 'afterwards', 'SECRET')).toMatchObject({ sensitivity: 'SECRET' })
})

function expectRaised({ datasets }: Label, { name, sensitivity }: Raised): void {
  const found = datasets.find((dataset) => dataset.name === name)
  expect(found, name).toBeDefined()
  expect(isAtLeast(found?.sensitivity ?? LOWEST_SENSITIVITY, sensitivity), name).toBe(true)
}
