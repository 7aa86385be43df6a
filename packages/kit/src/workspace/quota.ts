import { ToolRetryError } from '../retry-fatal-errors.ts'

/** The size limits of a workspace and its files. */
export interface WorkspaceLimits {
  /** The maximum number of bytes of one file after a write. */
  readonly fileBytes: number
  /** The maximum number of bytes of all files together. */
  readonly workspaceBytes: number
  /** The maximum number of files and directories. */
  readonly entries: number
}

export const DEFAULT_WORKSPACE_LIMITS: WorkspaceLimits = {
  fileBytes: 100 * 1024 * 1024,
  workspaceBytes: 1024 * 1024 * 1024,
  entries: 100_000,
}

export interface Usage {
  readonly bytes: number
  readonly entries: number
}

/** Tracks the remaining space of a workspace. */
export interface Quota {
  /** Runs work that makes the workspace grow by this much, or refuses it if it would not fit. Failed work uses no space. */
  reserve<Value>(growth: Usage, work: () => Promise<Value>): Promise<Value>
  release(usage: Usage): void
}

interface PendingWrite {
  readonly growth: Usage
  readonly done: Promise<unknown>
}

/** Other processes may write to the directory, so it is measured again after this time. */
const MEASUREMENT_TTL_MS = 60_000
const NO_USAGE: Usage = { bytes: 0, entries: 0 }

/** Counts each change, and measures before it refuses. With several processes the limit is enforced as well as possible. */
export function createQuota(limits: WorkspaceLimits, measure: () => Promise<Usage>): Quota {
  const running = new Set<PendingWrite>()
  let used = NO_USAGE
  let unmeasured = NO_USAGE
  let measuredAt = Number.NEGATIVE_INFINITY
  let measuring: Promise<void> | undefined
  const beginMeasuring = async (): Promise<void> => {
    // It is unknown how much of a running write is on the disk already, so it counts in full in addition.
    unmeasured = [...running].reduce((sum, { growth }) => addUsage(sum, toGrowth(growth)), NO_USAGE)
    used = addUsage(await measure(), unmeasured)
    measuredAt = performance.now()
  }
  const refresh = (): Promise<void> => {
    measuring ??= beginMeasuring().finally(() => {
      measuring = undefined
    })
    return measuring
  }
  const take = (growth: Usage): void => {
    used = addUsage(used, growth)
    unmeasured = addUsage(unmeasured, toGrowth(growth))
  }
  const release = (usage: Usage): void => {
    used = addUsage(used, { bytes: -usage.bytes, entries: -usage.entries })
  }
  return {
    release,
    reserve: async (growth, work) => {
      if (performance.now() - measuredAt > MEASUREMENT_TTL_MS) await refresh()
      if (findExcess(addUsage(used, growth), growth, limits) !== undefined) {
        await Promise.allSettled([...running].map(({ done }) => done))
        await refresh()
      }
      const problem = findExcess(addUsage(used, growth), growth, limits)
      if (problem !== undefined) throw new ToolRetryError(problem)
      take(growth)
      const spending = { growth, done: work() }
      running.add(spending)
      try {
        return await spending.done
      } catch (error) {
        release(growth)
        throw error
      } finally {
        running.delete(spending)
      }
    },
  }
}

const addUsage = (a: Usage, b: Usage): Usage => ({ bytes: a.bytes + b.bytes, entries: a.entries + b.entries })

const toGrowth = ({ bytes, entries }: Usage): Usage => ({ bytes: Math.max(0, bytes), entries: Math.max(0, entries) })

function findExcess(used: Usage, growth: Usage, limits: WorkspaceLimits): string | undefined {
  if (growth.bytes > 0 && used.bytes > limits.workspaceBytes)
    return `The workspace would have ${used.bytes} bytes; at most ${limits.workspaceBytes} are allowed. Delete some files first.`
  if (growth.entries > 0 && used.entries > limits.entries)
    return `The workspace would have ${used.entries} files and directories; at most ${limits.entries} are allowed. Delete some files first.`
  return undefined
}

export function checkFileSize(size: number, limits: WorkspaceLimits): void {
  if (size > limits.fileBytes)
    throw new ToolRetryError(`The file would have ${size} bytes; at most ${limits.fileBytes} are allowed.`)
}
