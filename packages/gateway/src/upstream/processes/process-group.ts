import { type ChildProcess, type ChildProcessWithoutNullStreams, type StdioOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import {
  findProcesses,
  type SweepResult,
  type SweepTarget,
  signalGroup,
  signalProcess,
  sweepProcesses,
} from './process-sweep.ts'
import { type ProcessEntry, readProcess } from './process-table.ts'
import type { Watchdog } from './watchdog.ts'

/** How long each step of a shutdown may take before the next, harder one, in milliseconds. */
export interface GracePeriods {
  readonly afterInputEnds: number
  readonly afterTerminate: number
}

export interface ProcessGroupOptions {
  readonly command: string
  readonly args: readonly string[]
  readonly cwd: string | undefined
  readonly env: Readonly<Record<string, string>>
  readonly mark: string
  readonly watchdog: Watchdog
  readonly gracePeriods?: GracePeriods | undefined
  /** What the program gets besides stdin, stdout and stderr. */
  readonly descriptors?: Exclude<StdioOptions, string> | undefined
  /** Asks the program to end; `undefined`: SIGTERM for the group. */
  readonly terminate?: (() => void) | undefined
}

export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

const DEFAULT_GRACE_PERIODS: GracePeriods = { afterInputEnds: 1_000, afterTerminate: 2_000 }
/** A process that hangs in the kernel cannot be waited for. */
const KILL_TIMEOUT_MS = 5_000
/** The time for reading what dead processes wrote; a process that escaped may hold the pipe open. */
const PIPE_TIMEOUT_MS = 500
const POLL_INTERVAL = 20

/** Starts a program as the leader of its own session and group. Rejects with the system's own error. */
export async function openProcessGroup(options: ProcessGroupOptions): Promise<ProcessGroup> {
  const child = spawn(options.command, options.args, {
    ...(options.cwd !== undefined && { cwd: options.cwd }),
    env: options.env,
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe', ...(options.descriptors ?? [])],
  }) as ChildProcessWithoutNullStreams
  const group = child.pid === undefined ? undefined : new ProcessGroup(child, child.pid, options)
  await once(child, 'spawn')
  return group as ProcessGroup
}

/** A program and everything that it started, ended together. */
export class ProcessGroup {
  readonly pid: number
  /** The program itself has exited; its children may still run. */
  readonly exited: Promise<Exit>
  /** It has exited, and everything written to its pipes has been read. */
  readonly closed: Promise<Exit>
  readonly #child: ChildProcessWithoutNullStreams
  readonly #options: ProcessGroupOptions
  readonly #since: number
  #exit: Exit | undefined
  #ending: Promise<SweepResult> | undefined

  constructor(child: ChildProcessWithoutNullStreams, pid: number, options: ProcessGroupOptions) {
    this.#child = child
    this.#options = options
    this.pid = pid
    options.watchdog.watch(pid)
    this.#since = readProcess(String(pid))?.started ?? 0
    // A signal that could not be sent is reported as an error; we check ourselves whether it is gone.
    child.on('error', () => {})
    this.exited = new Promise((resolve) => {
      child.once('exit', (code, signal) => {
        this.#exit = { code, signal }
        resolve(this.#exit)
        this.#ending ??= this.#sweep([])
      })
    })
    this.closed = new Promise((resolve) => {
      child.once('close', (code, signal) => resolve({ code, signal }))
    })
  }

  /** For a sandbox, which is reached through further pipes. */
  get child(): ChildProcess {
    return this.#child
  }

  get stdin(): ChildProcessWithoutNullStreams['stdin'] {
    return this.#child.stdin
  }

  get stdout(): ChildProcessWithoutNullStreams['stdout'] {
    return this.#child.stdout
  }

  get stderr(): ChildProcessWithoutNullStreams['stderr'] {
    return this.#child.stderr
  }

  /** `undefined` while it runs. */
  get exit(): Exit | undefined {
    return this.#exit
  }

  /** True if it exited by itself within this time. */
  exitsWithin(milliseconds: number): Promise<boolean> {
    return settlesWithin(this.exited, milliseconds)
  }

  /** Asks it to exit, then forces it. Resolves when none of its processes is left. */
  end(): Promise<SweepResult> {
    this.#ending ??= this.#end()
    return this.#ending
  }

  /** Kills it without asking. Resolves when none of its processes is left. */
  kill(): Promise<SweepResult> {
    return this.#sweep(this.#members())
  }

  async #end(): Promise<SweepResult> {
    const graces = this.#options.gracePeriods ?? DEFAULT_GRACE_PERIODS
    // Once a parent is dead, its children no longer show who started them.
    const known = this.#members()
    this.#child.stdin.destroy()
    if (!(await this.exitsWithin(graces.afterInputEnds))) {
      this.#terminate()
      await this.exitsWithin(graces.afterTerminate)
    }
    if (this.#exit !== undefined) await this.#terminateRest(known, graces.afterTerminate)
    return this.#sweep(known)
  }

  #terminate(): void {
    const { terminate } = this.#options
    if (terminate) terminate()
    else signalGroup(this.pid, 'SIGTERM')
  }

  /** The program exited by itself; its remaining children get the same chance. There is no event for their end. */
  async #terminateRest(known: readonly ProcessEntry[], grace: number): Promise<void> {
    const rest = this.#members(known)
    for (const { pid } of rest) signalProcess(pid, 'SIGTERM')
    const deadline = performance.now() + grace
    for (let left = rest; left.length > 0 && performance.now() < deadline; left = this.#members(known)) {
      await delay(POLL_INTERVAL)
    }
  }

  async #sweep(known: readonly ProcessEntry[]): Promise<SweepResult> {
    signalGroup(this.pid, 'SIGKILL')
    await this.exitsWithin(KILL_TIMEOUT_MS)
    const result = await sweepProcesses(this.#target(known))
    this.#options.watchdog.release(this.pid)
    await this.#releasePipes()
    return result
  }

  async #releasePipes(): Promise<void> {
    if (await settlesWithin(this.closed, PIPE_TIMEOUT_MS)) return
    for (const pipe of [this.stdin, this.stdout, this.stderr]) pipe.destroy()
  }

  #members(known: readonly ProcessEntry[] = []): readonly ProcessEntry[] {
    return findProcesses(this.#target(known)) ?? []
  }

  #target(known: readonly ProcessEntry[]): SweepTarget {
    const watchdog = this.#options.watchdog.pid
    const exclude = watchdog === undefined ? [] : [watchdog]
    return { mark: this.#options.mark, leader: this.pid, since: this.#since, known, exclude }
  }
}

/** Whether the promise resolved in time; leaves no timer behind. */
async function settlesWithin(promise: Promise<unknown>, milliseconds: number): Promise<boolean> {
  const timer = new AbortController()
  const late = delay(milliseconds, false, { signal: timer.signal }).catch(() => false)
  const inTime = await Promise.race([promise.then(() => true), late])
  timer.abort()
  return inTime
}
