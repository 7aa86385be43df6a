import { type FSWatcher, statSync, watch } from 'node:fs'

const DEBOUNCE_MS = 20
const POLL_MS = 500

/** Calls back soon after the entries of a folder have changed. It never keeps the process alive. */
export class FolderWatch {
  readonly #path: string
  readonly #onChange: () => void
  #watcher: FSWatcher | undefined
  #watched: string | undefined
  #debounce: NodeJS.Timeout | undefined
  #poll: NodeJS.Timeout | undefined
  #closed = false

  constructor(path: string, onChange: () => void) {
    this.#path = path
    this.#onChange = onChange
    this.#watch()
  }

  /** Calls back once more, for a caller that could not read everything yet. */
  recheckSoon(): void {
    this.#schedule(POLL_MS)
  }

  close(): void {
    this.#closed = true
    this.#stop()
    clearTimeout(this.#debounce)
  }

  /** A watch ends with its folder, and the system may have no watch left (ENOSPC): then the folder is polled. */
  #watch(): void {
    this.#stop()
    try {
      this.#watched = readIdentity(this.#path)
      // It may appear right now: then nobody would notice that the watch is for another folder.
      if (this.#watched === undefined) return this.#pollInstead()
      this.#watcher = watch(this.#path, { persistent: false }, () => this.#schedule(DEBOUNCE_MS))
      this.#watcher.on('error', () => this.#pollInstead())
    } catch {
      this.#pollInstead()
    }
  }

  #pollInstead(): void {
    this.#stop()
    if (this.#closed) return
    this.#poll = setInterval(() => this.#notify(), POLL_MS).unref()
  }

  #schedule(delayMs: number): void {
    if (this.#closed) return
    this.#debounce ??= setTimeout(() => this.#notify(), delayMs).unref()
  }

  #notify(): void {
    clearTimeout(this.#debounce)
    this.#debounce = undefined
    if (this.#watcher === undefined || readIdentity(this.#path) !== this.#watched) this.#watch()
    this.#onChange()
  }

  #stop(): void {
    this.#watcher?.close()
    this.#watcher = undefined
    clearInterval(this.#poll)
  }
}

function readIdentity(path: string): string | undefined {
  try {
    const stats = statSync(path)
    return `${stats.dev}:${stats.ino}`
  } catch {
    return undefined
  }
}
