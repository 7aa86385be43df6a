import { closeSync, constants, fstatSync, fsyncSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isJsonObject, isMode, type Mode, tryParseJson } from '@sallyport/core'
import { causeCode, describeDiskError, replaceFile } from '../disk/disk.ts'

/** The mode in force, since when, who set it by what means, and why. */
export interface ModeRecord {
  readonly mode: Mode
  /** ISO 8601. */
  readonly since: string
  readonly by: string
  readonly via: string
  /** Empty where nobody said why. */
  readonly why: string
}

/** What a state folder says about the mode. */
export type StoredMode =
  | { readonly found: 'record'; readonly record: ModeRecord }
  | { readonly found: 'nothing' }
  | DamagedMode

export interface DamagedMode {
  readonly found: 'damage'
  readonly path: string
  readonly problem: string
}

/** No record of ours is nearly as long. */
const MAX_BYTES = 16 * 1024

const pathOf = (state: string): string => join(state, 'mode.json')

export function readMode(state: string): StoredMode {
  const path = pathOf(state)
  try {
    const record = parseModeRecord(readSmall(path))
    return typeof record === 'string' ? { found: 'damage', path, problem: record } : { found: 'record', record }
  } catch (cause) {
    if (causeCode(cause) === 'ENOENT') return { found: 'nothing' }
    return { found: 'damage', path, problem: `cannot be read: ${describeDiskError(cause)}` }
  }
}

export async function writeMode(state: string, record: ModeRecord): Promise<void> {
  await replaceFile(pathOf(state), `${JSON.stringify(record)}\n`, { mode: 0o600 })
}

/** Where no record fits any more there is often still room for none: a file that says nothing means LOCKDOWN. */
export function truncateMode(state: string): void {
  const fd = openSync(pathOf(state), 'w', 0o600)
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

function readSmall(path: string): string {
  // Without O_NONBLOCK the opening of a FIFO waits for its writer.
  const fd = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  try {
    const stats = fstatSync(fd)
    if (!stats.isFile()) throw new Error('it is not a regular file')
    if (stats.size > MAX_BYTES) throw new Error(`it has ${stats.size} bytes`)
    return readFileSync(fd, 'utf8')
  } finally {
    closeSync(fd)
  }
}

/** The record, or what keeps the text from being one. */
function parseModeRecord(text: string): ModeRecord | string {
  if (text === '') return 'is empty'
  const value = tryParseJson(text)
  if (!isJsonObject(value)) return 'is not a JSON object'
  const { mode, since, by, via, why } = value
  if (!isMode(mode)) return 'names no mode that is known'
  if (typeof since !== 'string' || Number.isNaN(Date.parse(since))) return 'does not say since when'
  if (typeof by !== 'string' || typeof via !== 'string' || typeof why !== 'string') return 'does not say who and why'
  return { mode, since, by, via, why }
}
