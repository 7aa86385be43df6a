import { type FSWatcher, type Stats, statSync, unwatchFile, watch, watchFile } from 'node:fs'
import { join } from 'node:path'

/** An editor writes several times for one save, so we wait until the writes stop, but not longer than the maximum. */
const SETTLE_MS = 100
const MAX_SETTLE_MS = 1_000
/**
 * The folder's own events are fast, but they miss the target of a link, a folder that was replaced, and network file
 * systems. So the files are polled as well.
 */
const POLL_INTERVAL_MS = 800

export interface FileWatchOptions {
  readonly folder: string
  readonly names: readonly string[]
  /** Something may have changed. Calls do not overlap. */
  readonly onEvent: () => Promise<void>
}

/** Reports that files of a folder may have changed, once the writes have stopped. It never throws. */
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

  /** Afterwards it reports nothing more and holds no resources. */
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

  /** If the folder was replaced, watches the new one. */
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
      // No such folder, or no more watches available (EMFILE, ENOSPC): polling the files is enough.
    }
  }

  #dropFolder(watcher: FSWatcher): void {
    watcher.close()
    if (this.#folder?.watcher === watcher) this.#folder = undefined
  }
}
