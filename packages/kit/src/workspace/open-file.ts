import type { FileHandle } from 'node:fs/promises'
import { clampPage, type Page } from './page.ts'
import { directoryRefusal } from './refusals.ts'
import type { OpenedEntry } from './safe-open.ts'

/** A part of a file. */
export interface FilePage {
  readonly bytes: Buffer
  /** Of the whole file. */
  readonly size: number
  readonly offset: number
}

/** One open file. Replacing the file at its path meanwhile has no effect. */
export interface OpenFile {
  /** The size when it was opened; it may have changed since. */
  readonly size: number
  readonly modified: Date
  /** Returns fewer bytes if the file ends before, and never more than 16 MiB. */
  read(offset: number, length: number): Promise<Buffer>
}

export const MAX_READ_BYTES = 16 * 1024 * 1024

export function openFile({ handle, stats }: OpenedEntry): OpenFile {
  if (stats.isDirectory()) throw directoryRefusal()
  return {
    size: stats.size,
    modified: stats.mtime,
    read: (offset, length) => readFully(handle, offset, Math.min(length, MAX_READ_BYTES)),
  }
}

export async function readPage({ size, read }: OpenFile, page: Page): Promise<FilePage> {
  const { offset, limit } = clampPage(page, MAX_READ_BYTES)
  return { bytes: await read(offset, Math.min(limit, Math.max(0, size - offset))), size, offset }
}

/** A file may shrink while it is read: only the bytes that were read are returned. */
async function readFully(handle: FileHandle, offset: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length)
  let filled = 0
  while (filled < length) {
    const { bytesRead } = await handle.read(bytes, filled, length - filled, offset + filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return bytes.subarray(0, filled)
}
