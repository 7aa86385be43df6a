import { type FSWatcher, type Stats, statSync, unwatchFile, watch, watchFile } from 'node:fs'
import { join } from 'node:path'

/** An editor writes several times for one save; what keeps on writing is read at least so often. */
const SETTLE_MS = 100
const MAX_SETTLE_MS = 1_000
/**
 * The folder's own events are quick, but they miss a link's target, a folder that was replaced, and network file
 * systems. So the files are looked at as well.
 */
const POLL_INTERVAL_MS = 800

export interface FileWatchOptions {
  readonly folder: string
  readonly names: readonly string[]
  /** Something may have changed. One at a time, in order. */
  readonly onEvent: () => Promise<void>
}

/** Tells, once things have settled, that files of a folder may have changed. It never throws. */
export class FileWatch {
  readonly #options: FileWatchOptions
  readonly #files: readonly string[]
  #folder: { readonly watcher: FSWatcher; readonly inode: number } | undefined
  #timer: NodeJS.Timeout | undefined
  #firstEvent = 0
  #notified: Promise<void> = Promise.resolve()
  #closed = false

  constructor(options: FileWatchOptions) {
    this.#options = options
    this.#files = options.names.map((name) => join(options.folder, name))
    for (const file of this.#files) watchFile(file, { persistent: false, interval: POLL_INTERVAL_MS }, this.#onPoll)
    this.#watchFolder()
    this.#onEvent()
  }

  /** After this nothing is told any more and nothing of it is left. */
  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    for (const file of this.#files) unwatchFile(file, this.#onPoll)
    this.#folder?.watcher.close()
    this.#folder = undefined
    await this.#notified
  }

  readonly #onPoll = (_now: Stats, _before: Stats): void => this.#onEvent()

  #onEvent(): void {
    if (this.#closed) return
    const now = performance.now()
    if (this.#timer === undefined) this.#firstEvent = now
    clearTimeout(this.#timer)
    const delay = Math.max(0, Math.min(SETTLE_MS, this.#firstEvent + MAX_SETTLE_MS - now))
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#notified = this.#notified.then(() => this.#notify())
    }, delay)
    this.#timer.unref()
  }

  async #notify(): Promise<void> {
    if (this.#closed) return
    this.#watchFolder()
    await this.#options.onEvent()
  }

  /** Follows the folder to its new place when it was replaced. */
  #watchFolder(): void {
    const { folder } = this.#options
    try {
      const inode = statSync(folder).ino
      if (this.#folder?.inode === inode) return
      this.#folder?.watcher.close()
      this.#folder = undefined
      const watcher = watch(folder, { persistent: false }, () => this.#onEvent())
      this.#folder = { watcher, inode }
      watcher.on('error', () => this.#dropFolder(watcher))
    } catch {
      // No such folder, or no more watches to be had (EMFILE, ENOSPC): looking at the files is enough.
    }
  }

  #dropFolder(watcher: FSWatcher): void {
    watcher.close()
    if (this.#folder?.watcher === watcher) this.#folder = undefined
  }
}
