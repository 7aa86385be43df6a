import { ToolRetryError } from '../agent-error.ts'

export interface WorkspaceLimits {
  /** The most bytes that one file may have after a write. */
  readonly fileBytes: number
  /** The most bytes of all files together. */
  readonly workspaceBytes: number
  /** The most files and directories. */
  readonly entries: number
}

export const DEFAULT_LIMITS: WorkspaceLimits = {
  fileBytes: 100 * 1024 * 1024,
  workspaceBytes: 1024 * 1024 * 1024,
  entries: 100_000,
}

export interface Usage {
  readonly bytes: number
  readonly entries: number
}

/** What is left of a workspace's limits. */
export interface Space {
  /** Refuses what would not fit. Negative numbers give back. */
  reserve(growth: Usage): Promise<void>
}

/** Others may write to the directory as well: after this long it is measured again. */
const TRUSTED_MS = 60_000

/** Counts along, and measures before it refuses: the limit is kept as well as it can be among several processes. */
export function createSpace(limits: WorkspaceLimits, measure: () => Promise<Usage>): Space {
  let used: Usage = { bytes: 0, entries: 0 }
  let measuredAt = Number.NEGATIVE_INFINITY
  let measuring: Promise<void> | undefined
  const refresh = (): Promise<void> => {
    measuring ??= measure()
      .then((usage) => {
        used = usage
        measuredAt = performance.now()
      })
      .finally(() => {
        measuring = undefined
      })
    return measuring
  }
  const after = (growth: Usage): Usage => ({
    bytes: used.bytes + growth.bytes,
    entries: used.entries + growth.entries,
  })
  return {
    reserve: async (growth) => {
      if (performance.now() - measuredAt > TRUSTED_MS) await refresh()
      if (excess(after(growth), growth, limits) !== undefined) await refresh()
      const problem = excess(after(growth), growth, limits)
      if (problem !== undefined) throw new ToolRetryError(problem)
      used = after(growth)
    },
  }
}

function excess(used: Usage, growth: Usage, limits: WorkspaceLimits): string | undefined {
  if (growth.bytes > 0 && used.bytes > limits.workspaceBytes)
    return `The workspace would have ${used.bytes} bytes; at most ${limits.workspaceBytes} are allowed. Delete something first.`
  if (growth.entries > 0 && used.entries > limits.entries)
    return `The workspace would have ${used.entries} files and directories; at most ${limits.entries} are allowed. Delete something first.`
  return undefined
}

export function checkFileSize(size: number, limits: WorkspaceLimits): void {
  if (size > limits.fileBytes)
    throw new ToolRetryError(`The file would have ${size} bytes; at most ${limits.fileBytes} are allowed.`)
}
