import { closeSync, fdatasync } from 'node:fs'
import { promisify } from 'node:util'
import { SallyportError } from '@sallyport/core'
import { describeDiskError, suggestDiskFix } from '../disk/disk.ts'

interface Waiter {
  readonly upTo: number
  readonly resolve: () => void
  readonly reject: (error: SallyportError) => void
}

export interface GroupSyncOptions {
  readonly fd: number
  /** How long a write may wait for its sync if nobody asks for one; 0: no delay. */
  readonly delay: number
  /** The disk refused to sync: recent writes may be lost. */
  readonly onFailure: () => void
  readonly datasync?: (fd: number) => Promise<void>
}

/** Syncs a file in the background: one sync at a time, and each serves all writes made before it began. */
export class GroupSync {
  readonly #delay: number
  readonly #onFailure: () => void
  readonly #datasync: (fd: number) => Promise<void>
  readonly #retired: number[] = []
  #fd: number
  #written = 0
  #synced = 0
  #waiters: Waiter[] = []
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined

  constructor({ fd, delay, onFailure, datasync = promisify(fdatasync) }: GroupSyncOptions) {
    this.#fd = fd
    this.#delay = delay
    this.#onFailure = onFailure
    this.#datasync = datasync
  }

  /** Call this after a write: it will be synced soon. */
  markWritten(): void {
    this.#written++
    this.#schedule()
  }

  /** Continues with another file. The previous one is synced once more and then closed. */
  moveTo(fd: number): void {
    this.#retired.push(this.#fd)
    this.#fd = fd
    this.markWritten()
  }

  /** Resolves once everything written so far is on disk. */
  sync(): Promise<void> {
    if (this.#synced === this.#written) return Promise.resolve()
    return new Promise((resolve, reject) => {
      this.#waiters.push({ upTo: this.#written, resolve, reject })
      this.#start()
    })
  }

  async close(): Promise<void> {
    try {
      await this.sync()
    } finally {
      await this.#running
      clearTimeout(this.#timer)
      for (const fd of [...this.#retired.splice(0), this.#fd]) closeSync(fd)
    }
  }

  #schedule(): void {
    if (this.#running !== undefined) return
    if (this.#delay === 0) this.#start()
    else this.#timer ??= setTimeout(() => this.#start(), this.#delay).unref()
  }

  #start(): void {
    if (this.#running !== undefined) return
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#running = this.#syncOnce().then((succeeded) => {
      this.#running = undefined
      if (this.#waiters.length > 0) this.#start()
      // After a failure, only a new write or a new waiter tries again, so that a broken disk does not cause a busy
      // loop.
      else if (succeeded && this.#synced < this.#written) this.#schedule()
    })
  }

  async #syncOnce(): Promise<boolean> {
    const upTo = this.#written
    const current = this.#fd
    try {
      await this.#syncRetired()
      await this.#datasync(current)
    } catch (cause) {
      this.#fail(upTo, cause)
      return false
    }
    this.#synced = upTo
    for (const waiter of this.#takeWaiters(upTo)) waiter.resolve()
    return true
  }

  /** Only those retired before this sync began: a later one may be the file that this sync is working on. */
  async #syncRetired(): Promise<void> {
    for (const fd of [...this.#retired]) {
      await this.#datasync(fd)
      this.#retired.shift()
      closeSync(fd)
    }
  }

  /**
   * After a failed sync the kernel may treat the lost pages as clean, so the next sync of that file would wrongly
   * succeed: the owner must change to another file.
   */
  #fail(upTo: number, cause: unknown): void {
    const error = new SallyportError(
      'AUDIT_UNAVAILABLE',
      `The event log could not be synced to disk: ${describeDiskError(cause)}.`,
      {
        hint: suggestDiskFix(cause),
        cause,
      },
    )
    this.#onFailure()
    for (const waiter of this.#takeWaiters(upTo)) waiter.reject(error)
  }

  #takeWaiters(upTo: number): readonly Waiter[] {
    const taken = this.#waiters.filter((waiter) => waiter.upTo <= upTo)
    this.#waiters = this.#waiters.filter((waiter) => waiter.upTo > upTo)
    return taken
  }
}
