import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { eventually, processesWith } from './processes.ts'

/** How long those that were told to end may take. */
const PATIENCE = 10_000

/**
 * Marks every process that the tests start, as a gateway above them would, and fails the run if one outlives it.
 *
 * Watchdogs and servers hand the mark on, so it finds what no test remembers to look for.
 */
export default function setup(): (() => Promise<void>) | undefined {
  if (!existsSync('/proc/self/environ')) return undefined
  const mark = `tests-${randomBytes(8).toString('hex')}`
  process.env.SALLYPORT_MARK = mark
  return async () => {
    await eventually(
      () => processesWith(mark),
      (pids) => pids.length === 0,
      PATIENCE,
    ).catch((cause) => {
      // vitest prints what a teardown throws, and calls the run a success all the same.
      process.exitCode = 1
      throw new Error(`The tests have left processes behind: ${processesWith(mark).join(', ')}`, { cause })
    })
  }
}
