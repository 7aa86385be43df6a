import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isJsonObject, type Json } from '@sallyport/core'
import { replaceFile } from '../disk/disk.ts'

/** The chain value at a record: whoever knows it can check whether anything up to that record was changed. */
export interface LogHead {
  readonly seq: number
  readonly chain: string
}

export interface HeadWriterOptions {
  readonly folder: string
  /** The newest head; `undefined` if there is none, or if the file is no longer ours. */
  readonly head: () => LogHead | undefined
  /** Resolves once everything written before is on disk. */
  readonly sync: () => Promise<void>
}

const SAVE_DELAY_MS = 5_000
/** A number that no log reaches: a log that continued after it could not name its files. */
const MAX_RECORDS = 1e14

const headPath = (folder: string): string => join(folder, 'head.json')

/** The head that was saved last; `undefined` if there is none or it cannot be read. */
export function readHead(folder: string): LogHead | undefined {
  try {
    const head = JSON.parse(readFileSync(headPath(folder), 'utf8')) as Json
    if (!isJsonObject(head)) return undefined
    const { seq, chain } = head
    if (typeof seq !== 'number' || !Number.isInteger(seq) || seq < 1 || seq > MAX_RECORDS) return undefined
    return typeof chain === 'string' && /^[0-9a-f]{64}$/.test(chain) ? { seq, chain } : undefined
  } catch {
    return undefined
  }
}

/** Saves the head beside the log, a few seconds late: a log that ends before its head has lost its end. */
export class HeadWriter {
  readonly #options: HeadWriterOptions
  #saved: LogHead | undefined
  #timer: NodeJS.Timeout | undefined
  #saving: Promise<void> | undefined

  constructor(options: HeadWriterOptions) {
    this.#options = options
  }

  /** Call this after the log has grown. */
  logGrew(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      void this.#save()
    }, SAVE_DELAY_MS).unref()
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer)
    await this.#saving
    await this.#save()
    clearTimeout(this.#timer)
  }

  #save(): Promise<void> {
    this.#saving ??= this.#saveOnce().finally(() => {
      this.#saving = undefined
    })
    return this.#saving
  }

  /** Never ahead of the disk: after a power cut, a head that is newer than the log would be a false alarm. */
  async #saveOnce(): Promise<void> {
    const { folder, head: newest, sync } = this.#options
    const head = newest()
    if (head === undefined || head.chain === this.#saved?.chain) return
    try {
      await sync()
      await replaceFile(headPath(folder), `${JSON.stringify(head)}\n`)
      this.#saved = head
    } catch {
      // The log itself reports a failing disk; an older head only proves less.
    }
  }
}
