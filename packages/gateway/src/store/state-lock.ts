import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { isJsonObject, SallyportError } from '@sallyport/core'
import { causeCode, createPrivateFile, makeFolder, replaceFile, stateUnusable } from '../disk/disk.ts'
import { findSqliteProblem, loadSqlite, type Sqlite } from './sqlite.ts'

/** The gateway that runs on a state, for people and the command line. */
export interface StateHolder {
  readonly pid: number
  readonly version: string
  readonly home: string
  readonly started: string
}

export interface StateLock {
  readonly held: false
  release(): void
}

export interface StateHeld {
  readonly held: true
  /** `undefined` while the holder has not written yet who it is. */
  readonly holder: StateHolder | undefined
}

export interface LockOptions {
  readonly version: string
  readonly home: string
  readonly now?: () => Date
}

/** Locks the state for this process alone. The kernel releases the lock when the process ends, however it ends. */
export async function lockState(state: string, options: LockOptions): Promise<StateLock | StateHeld> {
  makeFolder(state)
  const info = infoPath(state)
  const database = takeLock(join(state, 'gateway.lock'))
  if (database === undefined) return { held: true, holder: readHolder(state) }
  try {
    const { version, home, now = () => new Date() } = options
    const holder: StateHolder = { pid: process.pid, version, home, started: now().toISOString() }
    const text = `${JSON.stringify(holder)}\n`
    // Not synced: it describes a process. A power cut ends that process, and the kernel's lock with it.
    await replaceFile(info, text, { mode: 0o600, durability: 'process' })
    return { held: false, release: releaseOnce(database, { info, text }) }
  } catch (cause) {
    database.close()
    throw cause
  }
}

/**
 * IMMEDIATE and not EXCLUSIVE: it takes one atomic lock of one byte, so exactly one of two racing processes wins. Two
 * that both try for EXCLUSIVE can refuse each other. With the journal in memory there is nothing to roll back after a
 * crash.
 */
function takeLock(path: string): Sqlite | undefined {
  const Sqlite = loadSqlite()
  if (Sqlite === undefined) {
    const { message = '', hint = '' } = findSqliteProblem() ?? {}
    throw new SallyportError('STATE_UNUSABLE', message, { hint })
  }
  createPrivateFile(path)
  let database: Sqlite | undefined
  try {
    database = new Sqlite(path)
    // No prepared statement: only without one does `close` release the lock at once.
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN IMMEDIATE;')
    return database
  } catch (cause) {
    database?.close()
    if (causeCode(cause).startsWith('SQLITE_BUSY')) return undefined
    throw stateUnusable(path, cause)
  }
}

function releaseOnce(database: Sqlite, { info, text }: { readonly info: string; readonly text: string }): () => void {
  let released = false
  return () => {
    if (released) return
    released = true
    // Another folder may have taken the place of the state by now, with another holder.
    if (readIfThere(info) === text) rmSync(info, { force: true })
    database.close()
  }
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

const infoPath = (state: string): string => join(state, 'gateway.json')

/** What the last holder wrote. `undefined` if that process is dead: then the present holder has not written yet. */
export function readHolder(state: string): StateHolder | undefined {
  let value: unknown
  try {
    value = JSON.parse(readFileSync(infoPath(state), 'utf8'))
  } catch {
    return undefined
  }
  if (!isJsonObject(value) || typeof value.pid !== 'number' || !isAlive(value.pid)) return undefined
  const { pid, version, home, started } = value
  return { pid, version: String(version), home: String(home), started: String(started) }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (cause) {
    return causeCode(cause) === 'EPERM'
  }
}
