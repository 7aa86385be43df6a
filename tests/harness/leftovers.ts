import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventually, processesWith } from './processes.ts'

/** How long processes that are being ended may take. */
const TIMEOUT_MS = 50_000

/**
 * Gives the tests a folder for keys, marks every process that they start, as a gateway above them would, and fails the
 * run if one outlives it.
 *
 * Watchdogs and servers pass the mark on, so this also finds processes that no test looks for.
 */
export default function setup(): () => Promise<void> {
  // Otherwise every test that stores a result would create keys in the home of the user.
  const keys = mkdtempSync(join(tmpdir(), 'sallyport-test-keys-'))
  process.env.SALLYPORT_KEYS = keys
  const checkProcesses = markProcesses()
  return async () => {
    await checkProcesses?.()
    rmSync(keys, { recursive: true, force: true })
  }
}

function markProcesses(): (() => Promise<void>) | undefined {
  if (!existsSync('/proc/self/environ')) return undefined
  const mark = `tests-${randomBytes(8).toString('hex')}`
  process.env.SALLYPORT_MARK = mark
  return async () => {
    await eventually(
      () => processesWith(mark),
      (pids) => pids.length === 0,
      TIMEOUT_MS,
    ).catch((cause) => {
      // vitest prints what a teardown throws, but still reports success.
      process.exitCode = 1
      throw new Error(`The tests have left processes behind: ${processesWith(mark).join(', ')}`, { cause })
    })
  }
}
