import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { causeCode, syncFolder } from '../disk/disk.ts'
import type { Segment } from './segment.ts'

const { O_RDWR, O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW } = constants

export const openSegment = ({ path }: Segment): number =>
  openSync(path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600)

/** Where the path cannot be looked at, a new file cannot be made either, and that says why. */
export function isFileAt(fd: number, path: string): boolean {
  try {
    return isSameFile(lstatSync(path, { bigint: true }), fstatSync(fd, { bigint: true }))
  } catch {
    return false
  }
}

const isSameFile = (a: BigIntStats, b: BigIntStats): boolean => a.dev === b.dev && a.ino === b.ino

/** Only where the log was before: whoever took the whole state away took its lock away too, and another may hold that. */
export function recreateFolder(folder: string, around: BigIntStats): void {
  const parent = dirname(folder)
  if (!isSameFile(statSync(parent, { bigint: true }), around))
    throw new Error(`${parent} is another folder than before`)
  try {
    mkdirSync(folder, { mode: 0o700 })
    syncFolder(parent)
  } catch (cause) {
    if (causeCode(cause) !== 'EEXIST') throw cause
  }
}

/** It must not stay behind when it cannot be used: its name claims the numbers that the old segment goes on with. */
export function createSegment(folder: string, segment: Segment, content: Uint8Array = new Uint8Array()): number {
  const fd = openSync(segment.path, O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
  try {
    for (let written = 0; written < content.length; ) written += writeSync(fd, content, written)
    syncFolder(folder)
    return fd
  } catch (cause) {
    closeSync(fd)
    rmSync(segment.path, { force: true })
    throw cause
  }
}
