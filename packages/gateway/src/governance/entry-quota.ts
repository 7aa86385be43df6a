import { SlidingWindow } from './sliding-window.ts'
import { measureEntry, type NewEntry } from './tools-file/tools-file.ts'

/** How much of tools.yaml one server has. */
export interface EntryUsage {
  readonly entries: number
  readonly bytes: number
}

export interface EntryLimits {
  readonly entries: number
  readonly bytes: number
  /** Not counted in: what a server lists at first. */
  readonly perHour: number
}

/** Room for the largest catalogues that are in use, three times over in the largest file that is read. */
const LIMITS: EntryLimits = { entries: 5_000, bytes: 4_000_000, perHour: 500 }

const HOUR = 3_600_000

export interface EntryQuotaOptions {
  readonly usageOf: (server: string) => EntryUsage
  /** In milliseconds. */
  readonly now: () => number
  readonly limits?: EntryLimits
}

/** What one server may add to tools.yaml, so that none of them can fill it (GOV-32). */
export class EntryQuota {
  readonly #options: EntryQuotaOptions
  readonly #limits: EntryLimits
  readonly #written = new Map<string, SlidingWindow>()

  constructor(options: EntryQuotaOptions) {
    this.#options = options
    this.#limits = options.limits ?? LIMITS
  }

  /** How many of these, from the first on, the server may have written. They count as written. */
  reserve(server: string, entries: readonly NewEntry[]): number {
    const { usageOf, now } = this.#options
    const use = usageOf(server)
    const isFirst = use.entries === 0
    const written = this.#written.get(server) ?? new SlidingWindow(HOUR)
    this.#written.set(server, written)
    const rate = isFirst ? Number.POSITIVE_INFINITY : this.#limits.perHour - written.total(now())
    const most = Math.min(entries.length, rate, this.#limits.entries - use.entries)
    let room = this.#limits.bytes - use.bytes
    let count = 0
    for (const entry of entries.slice(0, Math.max(0, most))) {
      room -= measureEntry(entry)
      if (room < 0) break
      count++
      if (!isFirst) written.add(now())
    }
    return count
  }
}
