import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isJsonObject, type Json } from '@sallyport/core'
import { replaceFile } from '../disk/disk.ts'

/** What the chain has come to with a record: whoever knows it can tell whether anything up to there was changed. */
export interface LogHead {
  readonly seq: number
  readonly chain: string
}

export interface HeadWriterOptions {
  readonly folder: string
  /** The newest one; undefined where there is none that is ours to keep. */
  readonly head: () => LogHead | undefined
  /** Everything written before is on disk when it resolves. */
  readonly sync: () => Promise<void>
}

const SAVE_DELAY_MS = 5_000
/** A number that no log reaches: one that goes on behind it could not name its files. */
const MAX_RECORDS = 1e14

const headPath = (folder: string): string => join(folder, 'head.json')

/** The head that was kept last; undefined where there is none that can be read. */
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

/** Keeps the head beside the log, some seconds behind: a log that ends before it has lost its end. */
export class HeadWriter {
  readonly #options: HeadWriterOptions
  #saved: LogHead | undefined
  #timer: NodeJS.Timeout | undefined
  #saving: Promise<void> | undefined

  constructor(options: HeadWriterOptions) {
    this.#options = options
  }

  /** The log has grown. */
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

  /** Never ahead of the disk: after a power cut a head that knows more than the log would be a false alarm. */
  async #saveOnce(): Promise<void> {
    const { folder, head: newest, sync } = this.#options
    const head = newest()
    if (head === undefined || head.chain === this.#saved?.chain) return
    try {
      await sync()
      await replaceFile(headPath(folder), `${JSON.stringify(head)}\n`)
      this.#saved = head
    } catch {
      // The log itself tells of a disk that fails; an older head is only less able to tell.
    }
  }
}
