import { SlidingWindow } from './sliding-window.ts'
import { measureEntry, type NewEntry } from './tools-file/tools-file.ts'

/** How much of tools.yaml the entries of one server use. */
export interface EntryUsage {
  readonly entries: number
  readonly bytes: number
}

export interface EntryLimits {
  readonly entries: number
  readonly bytes: number
  /** The tools that a server lists at first do not count. */
  readonly perHour: number
}

/** Enough for the largest known catalogs. Three servers at the limit still fit into the largest file that is read. */
const LIMITS: EntryLimits = { entries: 5_000, bytes: 4_000_000, perHour: 500 }

const HOUR = 3_600_000

export interface EntryQuotaOptions {
  readonly usageOf: (server: string) => EntryUsage
  /** In milliseconds. */
  readonly now: () => number
  readonly limits?: EntryLimits
}

/** Limits how much one server may add to tools.yaml, so that no server can fill it (GOV-32). */
export class EntryQuota {
  readonly #options: EntryQuotaOptions
  readonly #limits: EntryLimits
  readonly #written = new Map<string, SlidingWindow>()

  constructor(options: EntryQuotaOptions) {
    this.#options = options
    this.#limits = options.limits ?? LIMITS
  }

  /** Returns how many of these entries, from the first on, may be written, and counts them as written. */
  reserve(server: string, entries: readonly NewEntry[]): number {
    const { usageOf, now } = this.#options
    const usage = usageOf(server)
    const isFirst = usage.entries === 0
    const written = this.#written.get(server) ?? new SlidingWindow(HOUR)
    this.#written.set(server, written)
    const rate = isFirst ? Number.POSITIVE_INFINITY : this.#limits.perHour - written.total(now())
    const max = Math.min(entries.length, rate, this.#limits.entries - usage.entries)
    let bytesLeft = this.#limits.bytes - usage.bytes
    let count = 0
    for (const entry of entries.slice(0, Math.max(0, max))) {
      bytesLeft -= measureEntry(entry)
      if (bytesLeft < 0) break
      count++
      if (!isFirst) written.add(now())
    }
    return count
  }
}
