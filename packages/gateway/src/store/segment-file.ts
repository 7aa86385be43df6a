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

/** If the path cannot be read, a new file cannot be created either, and that attempt reports the reason. */
export function isFileAt(fd: number, path: string): boolean {
  try {
    return isSameFile(lstatSync(path, { bigint: true }), fstatSync(fd, { bigint: true }))
  } catch {
    return false
  }
}

const isSameFile = (a: BigIntStats, b: BigIntStats): boolean => a.dev === b.dev && a.ino === b.ino

/**
 * Only in the original parent folder: whoever removed the whole state removed its lock too, and another process may
 * hold the new lock.
 */
export function recreateFolder(folder: string, around: BigIntStats): void {
  const parent = dirname(folder)
  if (!isSameFile(statSync(parent, { bigint: true }), around))
    throw new Error(`${parent} was replaced by another folder`)
  try {
    mkdirSync(folder, { mode: 0o700 })
    syncFolder(parent)
  } catch (cause) {
    if (causeCode(cause) !== 'EEXIST') throw cause
  }
}

/** It must be removed if it cannot be used: its name claims the numbers with which the old segment continues. */
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
