import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { SallyportEvent } from '@sallyport/core'
import { onTestFinished } from 'vitest'
import { openStore, type Store, type StoreOptions } from './store.ts'

/** A folder that is removed after the test. */
export function scratchFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-store-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** A store that is closed after the test at the latest. */
export function openTestStore(options: Partial<StoreOptions> & { readonly state: string }): Store {
  const store = openStore({ durability: 'process', ...options })
  onTestFinished(() => store.close())
  return store
}

export const createEvent = (message: string): SallyportEvent => ({ type: 'CONFIG_REJECTED', message })

export interface Child {
  readonly process: ChildProcessWithoutNullStreams
  /** The next line of its output; `undefined` once it has ended. */
  nextMessage(): Promise<unknown>
  /** All output that was not read before its end. */
  remainingMessages(): Promise<readonly unknown[]>
  kill(): Promise<void>
}

const PROGRAM = fileURLToPath(new URL('./store-child.test-kit.mjs', import.meta.url))

/** Starts a process that uses the built store. `prefix` is shell code to run before it, such as a limit. */
export function startChild(job: string, state: string, prefix = ''): Child {
  const child = spawn('/bin/sh', ['-c', `${prefix} exec "$0" "$@"`, process.execPath, PROGRAM, job, state])
  const ended = once(child, 'close')
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  child.stderr.resume()
  child.stdin.on('error', () => undefined)
  const kill = async () => {
    child.kill('SIGKILL')
    await ended
  }
  onTestFinished(kill)
  const nextMessage = async () => {
    const next = await lines.next()
    return next.done === true ? undefined : (JSON.parse(next.value) as unknown)
  }
  const remainingMessages = async () => {
    const all: unknown[] = []
    for (let next = await nextMessage(); next !== undefined; next = await nextMessage()) all.push(next)
    return all
  }
  return { process: child, nextMessage, remainingMessages, kill }
}
