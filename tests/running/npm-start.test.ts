import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { inTerminal } from '../harness/in-terminal.ts'
import { eventually, processesWith } from '../harness/processes.ts'
import { ROOT, textOf } from '../harness/repository.ts'
import { readRecords } from '../harness/run-gateway.ts'

const undo: (() => unknown)[] = []

afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step()
})

/** This repository with a build of its own, since other tests use what is built here. */
function repositoryThatBuildsBy(build: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-npm-start-'))
  const manifest = JSON.parse(textOf('package.json'))
  manifest.scripts.build = build
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
  cpSync(join(ROOT, 'scripts'), join(folder, 'scripts'), { recursive: true })
  symlinkSync(join(ROOT, 'packages'), join(folder, 'packages'))
  undo.push(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))
  return folder
}

interface Npm {
  readonly child: ChildProcess
  readonly words: () => string
  readonly ended: Promise<unknown>
  /** Everything that npm started, by a word in their environment. */
  readonly processes: () => readonly number[]
}

function start(folder: string, command: readonly string[]): Npm {
  const [program = '', ...args] = command
  const env = { ...process.env, OF_THIS_TEST: folder }
  const child = spawn(program, args, { cwd: folder, env, stdio: 'pipe' })
  const ended = once(child, 'exit')
  undo.push(async () => {
    for (const pid of processesWith(folder)) process.kill(pid, 'SIGKILL')
    await ended
  })
  let words = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => {
      words += text
    })
  return { child, words: () => words, ended, processes: () => processesWith(folder) }
}

const NPM_START = ['npm', 'start', '--', '--port', '0']

async function untilItServes({ words, processes }: Npm): Promise<void> {
  await eventually(words, (text) => text.includes('Ctrl-C'))
  // npm, the gateway, its watchdog and its two servers.
  await eventually(processes, ({ length }) => length >= 4)
}

async function expectOrderlyEnd({ ended, processes, words }: Npm, folder: string): Promise<void> {
  await ended
  await eventually(processes, ({ length }) => length === 0)
  const records = readRecords(join(folder, '.sallyport-demo'))
  expect(records.at(-1), words()).toMatchObject({ type: 'GATEWAY_STOPPED' })
}

it.each(['SIGTERM', 'SIGINT'] as const)('npm start ends with its gateway and its servers on %s', async (signal) => {
  const folder = repositoryThatBuildsBy('true')
  const npm = start(folder, NPM_START)
  await untilItServes(npm)
  npm.child.kill(signal)
  await expectOrderlyEnd(npm, folder)
})

it('ends normally on one Ctrl-C, which npm passes on a second time', async () => {
  const folder = repositoryThatBuildsBy('true')
  const npm = start(folder, inTerminal(NPM_START))
  await untilItServes(npm)
  npm.child.stdin?.write('\x03')
  await expectOrderlyEnd(npm, folder)
})

it.each([
  ['that it waits for', 'echo here > began && npm exec --call "sleep 1000"'],
  ['of which a part ignores the signal', `echo here > began && (trap '' TERM; sleep 1000)`],
])('ends with the build %s', async (_title, build) => {
  const folder = repositoryThatBuildsBy(build)
  const npm = start(folder, NPM_START)
  await eventually(
    () => existsSync(join(folder, 'began')),
    (isThere) => isThere,
  )
  npm.child.kill('SIGTERM')
  await npm.ended
  await eventually(npm.processes, ({ length }) => length === 0)
  expect(npm.words()).not.toContain('Ctrl-C')
})

it('starts nothing when the build fails', async () => {
  const folder = repositoryThatBuildsBy('exit 7')
  const npm = start(folder, NPM_START)
  expect(await npm.ended).toEqual([7, null])
  expect(existsSync(join(folder, '.sallyport-demo'))).toBe(false)
})
