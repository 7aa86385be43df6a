import { type FSWatcher, statSync, watch } from 'node:fs'

const SETTLE_MS = 20
const POLL_MS = 500

/** Calls back soon after a folder's entries changed. It never keeps the process alive. */
export class FolderWatch {
  readonly #path: string
  readonly #onChange: () => void
  #watcher: FSWatcher | undefined
  #watched: string | undefined
  #settling: NodeJS.Timeout | undefined
  #poll: NodeJS.Timeout | undefined
  #closed = false

  constructor(path: string, onChange: () => void) {
    this.#path = path
    this.#onChange = onChange
    this.#watch()
  }

  /** Calls back once more, for a caller who could not see the change yet. */
  nudge(): void {
    this.#soon(POLL_MS)
  }

  close(): void {
    this.#closed = true
    this.#stop()
    clearTimeout(this.#settling)
  }

  /** A watch dies with its folder, and the system may have none left to give (ENOSPC): then it is looked at regularly. */
  #watch(): void {
    this.#stop()
    try {
      this.#watched = identityOf(this.#path)
      this.#watcher = watch(this.#path, { persistent: false }, () => this.#soon(SETTLE_MS))
      this.#watcher.on('error', () => this.#fallBack())
    } catch {
      this.#fallBack()
    }
  }

  #fallBack(): void {
    this.#stop()
    if (this.#closed) return
    this.#poll = setInterval(() => this.#tell(), POLL_MS).unref()
  }

  #soon(delayMs: number): void {
    if (this.#closed) return
    this.#settling ??= setTimeout(() => this.#tell(), delayMs).unref()
  }

  #tell(): void {
    clearTimeout(this.#settling)
    this.#settling = undefined
    if (this.#watcher === undefined || identityOf(this.#path) !== this.#watched) this.#watch()
    this.#onChange()
  }

  #stop(): void {
    this.#watcher?.close()
    this.#watcher = undefined
    clearInterval(this.#poll)
  }
}

function identityOf(path: string): string | undefined {
  try {
    const stats = statSync(path)
    return `${stats.dev}:${stats.ino}`
  } catch {
    return undefined
  }
}
