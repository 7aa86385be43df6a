import { closeSync, openSync } from 'node:fs'
import type { LoggedEvent } from '@sallyport/core'
import { causeCode } from '../disk/disk.ts'
import { readAt } from './line-reader.ts'
import { parseRecord } from './record-line.ts'
import { segmentAt } from './segment.ts'

/** Where the index says that a record stands. */
export interface RecordLocation {
  readonly seq: number
  readonly file: number
  readonly offset: number
  readonly length: number
}

/** `gone`: its segment was taken away. `stale`: something else stands there, so the index is of another log. */
export type RecordResult = LoggedEvent | 'gone' | 'stale'

/** Reads single records, with each segment opened once. */
export class RecordReader {
  readonly #folder: string
  readonly #fds = new Map<number, number | undefined>()

  constructor(folder: string) {
    this.#folder = folder
  }

  read({ seq, file, offset, length }: RecordLocation): RecordResult {
    const fd = this.#open(file)
    if (fd === undefined) return 'gone'
    const record = parseRecord(readAt(fd, offset, length).toString())
    return record?.seq === seq ? record : 'stale'
  }

  close(): void {
    for (const fd of this.#fds.values()) if (fd !== undefined) closeSync(fd)
    this.#fds.clear()
  }

  #open(file: number): number | undefined {
    if (!this.#fds.has(file)) this.#fds.set(file, openIfThere(segmentAt(this.#folder, file).path))
    return this.#fds.get(file)
  }
}

function openIfThere(path: string): number | undefined {
  try {
    return openSync(path, 'r')
  } catch (cause) {
    if (causeCode(cause) === 'ENOENT') return undefined
    throw cause
  }
}
