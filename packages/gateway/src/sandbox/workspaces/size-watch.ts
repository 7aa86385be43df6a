import { statfsSync } from 'node:fs'
import { lstat, opendir } from 'node:fs/promises'
import { join } from 'node:path'
import { causeCode } from '../../disk/disk.ts'

export interface SizeWatchOptions {
  readonly path: string
  /** In bytes. A folder that has more at first may keep that, so that a program can remove files. */
  readonly maxBytes: number
  /** Called each time that it is found too large. */
  readonly onFull: (bytes: number) => void
}

/** To ask the file system how full it is costs nothing; to count all files does. */
const POLL_MS = 100
const MIN_GROWTH = 4 * 1024 ** 2
/** So that slow growth is noticed as well, and growth while something else shrinks. */
const MAX_AGE_MS = 10_000

/** Notices when the files in a folder take too much room: folders have no limit of their own. */
export class SizeWatch {
  readonly #options: SizeWatchOptions
  readonly #timer: NodeJS.Timeout
  #maxBytes: number | undefined
  #used: number | undefined
  #measuredAt = 0
  #measuring: Promise<void> | undefined
  #closed = false

  constructor(options: SizeWatchOptions) {
    this.#options = options
    this.#timer = setInterval(() => this.#poll(), POLL_MS).unref()
    this.#poll()
  }

  close(): void {
    this.#closed = true
    clearInterval(this.#timer)
  }

  #poll(): void {
    const used = readUsed(this.#options.path)
    if (used === undefined || this.#measuring !== undefined || !this.#isDue(used)) return
    this.#used = used
    this.#measuring = this.#measure().finally(() => {
      this.#measuring = undefined
      this.#measuredAt = performance.now()
    })
  }

  #isDue(used: number): boolean {
    if (this.#used === undefined || used - this.#used >= MIN_GROWTH) return true
    return used !== this.#used && performance.now() - this.#measuredAt >= MAX_AGE_MS
  }

  async #measure(): Promise<void> {
    const { path, maxBytes, onFull } = this.#options
    // All of what is there at first is counted: a limit that is higher than what is counted could never be exceeded.
    const enough = this.#maxBytes === undefined ? Number.MAX_VALUE : Math.max(this.#maxBytes, 4 * maxBytes)
    const bytes = await measureFolder(path, enough)
    const isFirst = this.#maxBytes === undefined
    this.#maxBytes ??= Math.max(maxBytes, Number.isFinite(bytes) ? bytes : 0)
    // A program that was started again may also remove what cannot be read: it has until the files grow.
    if (bytes > this.#maxBytes && !isFirst && !this.#closed) onFull(bytes)
  }
}

/** Bytes that are used of the file system that a folder is in. Empty files take room too, which it does not count. */
function readUsed(path: string): number | undefined {
  try {
    const { blocks, bfree, bsize, files, ffree } = statfsSync(path)
    return (blocks - bfree) * bsize + (files - ffree) * MIN_FILE_BYTES
  } catch {
    return undefined
  }
}

/** A file needs memory besides its content, and so does an empty one. */
const MIN_FILE_BYTES = 4_096
const BLOCK_BYTES = 512

/** The room that everything in a folder takes, or some more than `enough`: then it need not count the rest. Infinite if a part cannot be read. */
async function measureFolder(path: string, enough = Number.MAX_VALUE): Promise<number> {
  const counted = new Set<number>()
  const folders = [path]
  let bytes = 0
  for (let folder = folders.pop(); folder !== undefined && bytes <= enough; folder = folders.pop()) {
    const entries = await readFolder(folder)
    if (entries === undefined) return Number.POSITIVE_INFINITY
    for (const { name, isFolder } of entries) {
      const file = join(folder, name)
      const found = await lstat(file).catch(findCause)
      if (found === 'unreadable') return Number.POSITIVE_INFINITY
      if (found === 'removed' || (found.nlink > 1 && !isFolder && counted.has(found.ino))) continue
      counted.add(found.ino)
      bytes += Math.max(found.blocks * BLOCK_BYTES, MIN_FILE_BYTES)
      if (isFolder) folders.push(file)
      if (bytes > enough) break
    }
  }
  return bytes
}

/** Whoever writes there may remove it at the same time. Other errors hide something: a path that is too long, too. */
const findCause = (error: unknown): 'removed' | 'unreadable' =>
  ['ENOENT', 'ENOTDIR'].includes(causeCode(error) ?? '') ? 'removed' : 'unreadable'

/** `undefined`: it cannot be read, since a program has hidden what is in it. */
async function readFolder(path: string) {
  const entries: { readonly name: string; readonly isFolder: boolean }[] = []
  try {
    for await (const entry of await opendir(path)) entries.push({ name: entry.name, isFolder: entry.isDirectory() })
  } catch (error) {
    if (findCause(error) === 'unreadable') return undefined
  }
  return entries
}
