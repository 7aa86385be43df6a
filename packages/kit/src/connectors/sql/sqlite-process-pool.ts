import { type ChildProcess, fork } from 'node:child_process'
import { parse } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ConnectorError } from '../connector-error.ts'
import { queryCancelledError, queryTimeoutError } from './sql-error.ts'
import type { SqliteAnswer, SqliteJob } from './sqlite-job.ts'

const MAX_PROCESSES = 4
const IDLE_MS = 30_000
const PROGRAM = fileURLToPath(new URL('./sqlite-process.js', import.meta.url))
/** Not the folder of our program: a full-text index can be made to open files there whose names are numbers. */
const ROOT = parse(PROGRAM).root
/** Limits the memory of a process, and lets it collect what libsql leaves open. */
const NODE_FLAGS = ['--max-old-space-size=256', '--expose-gc']

/**
 * SQLite in child processes, each with one statement at a time. A statement that never ends can only be killed, libsql
 * ends its process on a string that is not valid UTF-8, and a statement blocks its process while it runs.
 */
export class SqliteProcessPool {
  readonly #all = new Set<ChildProcess>()
  readonly #idle: ChildProcess[] = []
  readonly #idleTimers = new Map<ChildProcess, NodeJS.Timeout>()
  readonly #waiting: (() => void)[] = []
  #closed = false

  async run(job: SqliteJob, signal: AbortSignal | undefined): Promise<SqliteAnswer> {
    const child = await this.#acquire(signal)
    try {
      return await sendJob(child, job, signal)
    } catch (error) {
      child.kill('SIGKILL')
      throw error
    } finally {
      this.#release(child)
    }
  }

  /** Resolves when every process has ended. */
  async close(): Promise<void> {
    this.#closed = true
    for (const wake of this.#waiting.splice(0)) wake()
    await Promise.all([...this.#all].map(killAndWait))
  }

  async #acquire(signal: AbortSignal | undefined): Promise<ChildProcess> {
    while (!this.#closed) {
      if (signal?.aborted) throw queryCancelledError()
      const child = this.#idle.pop() ?? (this.#all.size < MAX_PROCESSES ? this.#start() : undefined)
      if (child !== undefined) return this.#activate(child)
      await this.#waitForIdle(signal)
    }
    throw new ConnectorError('The connector is closed.', { retryable: false })
  }

  #waitForIdle(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        signal?.removeEventListener('abort', wake)
        const at = this.#waiting.indexOf(wake)
        if (at >= 0) this.#waiting.splice(at, 1)
        resolve()
      }
      signal?.addEventListener('abort', wake)
      this.#waiting.push(wake)
    })
  }

  #start(): ChildProcess {
    // An empty environment, so that the process does not get our secrets.
    const child = fork(PROGRAM, [], {
      env: {},
      cwd: ROOT,
      execArgv: NODE_FLAGS,
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    })
    this.#all.add(child)
    child.on('error', () => this.#remove(child))
    child.once('exit', () => this.#remove(child))
    return child
  }

  #release(child: ChildProcess): void {
    if (!this.#all.has(child) || child.killed || !child.connected) return
    // An idle process must not keep the program alive, and ends after some time.
    child.unref()
    child.channel?.unref()
    this.#idleTimers.set(child, setTimeout(() => this.#kill(child), IDLE_MS).unref())
    this.#idle.push(child)
    this.#waiting[0]?.()
  }

  #activate(child: ChildProcess): ChildProcess {
    clearTimeout(this.#idleTimers.get(child))
    this.#idleTimers.delete(child)
    child.ref()
    child.channel?.ref()
    return child
  }

  #kill(child: ChildProcess): void {
    this.#remove(child)
    child.kill('SIGKILL')
  }

  #remove(child: ChildProcess): void {
    this.#all.delete(child)
    clearTimeout(this.#idleTimers.get(child))
    this.#idleTimers.delete(child)
    const at = this.#idle.indexOf(child)
    if (at >= 0) this.#idle.splice(at, 1)
    this.#waiting[0]?.()
  }
}

function sendJob(child: ChildProcess, job: SqliteJob, signal: AbortSignal | undefined): Promise<SqliteAnswer> {
  return new Promise((resolve, reject) => {
    const settle = (action: () => void) => () => {
      clearTimeout(timer)
      child.off('message', answered).off('exit', died).off('error', died)
      signal?.removeEventListener('abort', aborted)
      action()
    }
    const answered = (answer: unknown): void => settle(() => resolve(answer as SqliteAnswer))()
    const died = settle(() => reject(new ConnectorError(CRASH_MESSAGE, { retryable: true })))
    const aborted = settle(() => reject(queryCancelledError()))
    const timer = setTimeout(
      settle(() => reject(queryTimeoutError(job.limits.timeoutMs))),
      job.limits.timeoutMs,
    )
    child.once('message', answered).once('exit', died).once('error', died)
    signal?.addEventListener('abort', aborted)
    child.send(job, (error) => {
      if (error !== null) died()
    })
  })
}

const CRASH_MESSAGE =
  'SQLite ended while it ran the statement: it needed too much memory, or read a string that is not valid UTF-8. ' +
  'Ask for less, or use hex(column).'

function killAndWait(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return resolve()
    child.ref()
    child.once('exit', () => resolve())
    child.kill('SIGKILL')
  })
}
