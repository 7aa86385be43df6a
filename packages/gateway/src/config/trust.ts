import { open, readFile, realpath, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { isJsonObject, type Json, SallyportError } from '@sallyport/core'
import { causeCode, replaceFile, stateUnusable } from '../disk/disk.ts'
import type { Home } from './home.ts'
import type { HomeContent } from './home-content.ts'

export type Trust = 'trusted' | 'untrusted' | 'changed'

export interface TrustQuestion {
  readonly home: Home
  /** Of the bytes that will be used, so that nothing can change between the check and the use. */
  readonly content: Pick<HomeContent, 'digest'>
  /** The state folder. */
  readonly state: string
}

/** Only a home that was found in the working folder needs trust: any other one was named by the operator. */
export async function trustOf({ home, content, state }: TrustQuestion): Promise<Trust> {
  if (home.origin !== 'project') return 'trusted'
  const recorded = (await readRecord(join(state, RECORD))).get(await canonicalPath(home.path))
  if (recorded === undefined) return 'untrusted'
  return recorded === content.digest ? 'trusted' : 'changed'
}

/** Refuses to go on with a home that nobody vouched for. */
export async function requireTrust(question: TrustQuestion): Promise<void> {
  const trust = await trustOf(question)
  if (trust === 'trusted') return
  const { path } = question.home
  const what = trust === 'changed' ? 'has changed since it was trusted' : 'came with this folder and is not trusted'
  throw new SallyportError('HOME_UNTRUSTED', `The home ${path} ${what}.`, {
    hint: 'It can start programs in your name. Read its files, then run `sallyport trust`, or use your own home with --home.',
  })
}

/** Remembers that the operator has seen exactly these bytes. */
export async function recordTrust({ home, content, state }: TrustQuestion): Promise<void> {
  const file = join(state, RECORD)
  const path = await canonicalPath(home.path)
  try {
    await withLock(`${file}.lock`, async () => {
      const homes = new Map(await readRecord(file)).set(path, content.digest)
      await replaceFile(file, `${JSON.stringify({ homes: [...homes] }, undefined, 2)}\n`, { mode: 0o600 })
    })
  } catch (cause) {
    throw stateUnusable(file, cause)
  }
}

const RECORD = 'trusted-homes.json'

/** Two ways to one folder are one home. */
const canonicalPath = (path: string): Promise<string> => realpath(path).catch(() => path)

/** Path to digest. What cannot be read vouches for nothing. */
async function readRecord(file: string): Promise<ReadonlyMap<string, string>> {
  const text = await readFile(file, 'utf8').catch(() => '')
  try {
    const record = JSON.parse(text) as Json
    const homes = isJsonObject(record) && Array.isArray(record.homes) ? record.homes : []
    return new Map(homes.filter(isPair))
  } catch {
    return new Map()
  }
}

function isPair(value: unknown): value is readonly [string, string] {
  return Array.isArray(value) && value.length === 2 && value.every((part) => typeof part === 'string')
}

const LOCK_RETRY_MS = 10
/** The work under the lock takes milliseconds: one that is older was left behind by a process that died. */
const LOCK_STALE_MS = 5_000

/**
 * One writer at a time. A lock that was left behind is removed after a while; should two writers then meet after all,
 * one record is lost and its home is asked for again, which is the safe side.
 */
async function withLock(lock: string, work: () => Promise<void>): Promise<void> {
  while (!(await takeLock(lock))) {
    await removeStale(lock)
    await wait(LOCK_RETRY_MS)
  }
  try {
    await work()
  } finally {
    await rm(lock, { force: true })
  }
}

async function takeLock(lock: string): Promise<boolean> {
  try {
    await (await open(lock, 'wx', 0o600)).close()
    return true
  } catch (error) {
    if (causeCode(error) === 'EEXIST') return false
    throw error
  }
}

async function removeStale(lock: string): Promise<void> {
  const found = await stat(lock).catch(() => undefined)
  if (found !== undefined && Date.now() - found.mtimeMs > LOCK_STALE_MS) await rm(lock, { force: true })
}
