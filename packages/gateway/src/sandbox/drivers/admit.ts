import type { ChildProcess } from 'node:child_process'
import type { Duplex } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { SallyportError } from '@sallyport/core'
import { attest, type Expectation } from './attestation.ts'
import type { SandboxedProgram } from './driver.ts'
import { findChild, hasListener, readParent, readProgramName, readStartTime } from './process-facts.ts'

export interface Admission {
  /** Options of bubblewrap, which must not be in its command line. */
  readonly options: readonly string[]
  /** The filter of system calls, if there is one. */
  readonly filter?: Buffer | undefined
  readonly expected: Expectation
  /** Numbers of the descriptors for options, for what bubblewrap reports, for the word that starts the program, and for the filter. */
  readonly pipes: { readonly options: number; readonly info: number; readonly gate: number; readonly filter: number }
  /** Where programs of ours must listen before the program starts. */
  readonly ports: readonly number[]
  /** How long each part of the start may take. */
  readonly timeoutMs?: number
}

const START_TIMEOUT_MS = 30_000
/** There is no event for what happens in another namespace. */
const POLL_MS = 2
/** bubblewrap is process 1 inside; its first child is our shell, which becomes the program. */
const PROGRAM_ID = 2

/** Lets the program of a new sandbox start, if the sandbox is what it should be. */
export async function admitProgram(child: ChildProcess, admission: Admission): Promise<SandboxedProgram> {
  const pipe = (number: number): Duplex => child.stdio[number] as Duplex
  const { options, info, gate, filter } = admission.pipes
  const { timeoutMs = START_TIMEOUT_MS } = admission
  const exited = waitForExit(child)
  // Each pipe breaks if bubblewrap fails; its exit says more.
  for (const number of [options, info, gate, filter]) pipe(number).on('error', () => {})
  pipe(options).end(admission.options.map((option) => `${option}\0`).join(''))
  pipe(filter).end(admission.filter)
  let isLate = false
  // Whoever closes a sandbox waits for its start, so that has to end.
  const timer = setTimeout(() => {
    isLate = true
    child.kill('SIGKILL')
  }, timeoutMs)
  const init = await Promise.race([readInit(pipe(info)), exited.then(() => undefined)])
  clearTimeout(timer)
  if (init === undefined) throw isLate ? notReady(timeoutMs) : notCreated(await exited)
  const sandbox = new BubblewrapProgram(child, init, exited)
  try {
    const pid = await waitForProgram(init, child, { timeoutMs, ports: admission.ports })
    const differences = readParent(init) === child.pid ? attest(pid, admission.expected) : ['it is not our own']
    if (differences.length > 0) throw notAsExpected(differences)
    pipe(gate).end('start\n')
    return sandbox.withProgram(pid)
  } catch (error) {
    await sandbox.stop()
    throw error
  }
}

interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly error?: Error
}

function waitForExit(child: ChildProcess): Promise<Exit> {
  if (child.exitCode !== null || child.signalCode !== null)
    return Promise.resolve({ code: child.exitCode, signal: child.signalCode })
  return new Promise((resolve) => {
    child.once('error', (error) => resolve({ code: null, signal: null, error }))
    child.once('exit', (code, signal) => resolve({ code, signal }))
  })
}

/** The process id of the sandbox's init; never if bubblewrap fails before it has one. */
function readInit(info: Duplex): Promise<number> {
  return new Promise((resolve) => {
    let text = ''
    info.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
      const found = /"child-pid"\s*:\s*(\d+)/.exec(text)?.[1]
      if (found !== undefined && text.includes('}')) resolve(Number(found))
    })
  })
}

interface Readiness {
  readonly timeoutMs: number
  readonly ports: readonly number[]
}

/** Our shell has started the bridge, and waits. */
async function waitForProgram(init: number, child: ChildProcess, { timeoutMs, ports }: Readiness): Promise<number> {
  const deadline = performance.now() + timeoutMs
  while (performance.now() < deadline) {
    if (child.exitCode !== null || child.signalCode !== null)
      throw notCreated({ code: child.exitCode, signal: child.signalCode })
    const pid = ports.every((port) => hasListener(init, port)) ? findChild(init, PROGRAM_ID) : undefined
    // Before that it is a part of bubblewrap, which has rights that it drops at last.
    if (pid !== undefined && hasBecomeShell(pid, init)) return pid
    await delay(POLL_MS)
  }
  throw notReady(timeoutMs)
}

function hasBecomeShell(pid: number, init: number): boolean {
  const name = readProgramName(pid)
  return name !== undefined && name !== readProgramName(init)
}

/** A program that bubblewrap isolates. */
class BubblewrapProgram {
  readonly #child: ChildProcess
  readonly #init: number
  readonly #started: string | undefined
  readonly #exited: Promise<unknown>

  constructor(child: ChildProcess, init: number, exited: Promise<unknown>) {
    this.#child = child
    this.#init = init
    this.#started = readStartTime(init)
    this.#exited = exited
  }

  withProgram(pid: number): SandboxedProgram {
    return {
      pid,
      // The session that bubblewrap began for the sandbox is named after init, which itself ignores signals.
      signal: (signal, target) => this.#kill(target === 'group' ? -this.#init : pid, signal),
      stop: () => this.stop(),
    }
  }

  /** The kernel kills everything in the namespace before init is gone. To kill bubblewrap instead would leave it running for a moment. */
  async stop(): Promise<void> {
    this.#kill(this.#init, 'SIGKILL')
    while (this.#isAlive()) await delay(POLL_MS)
    // Without the rest it exits by itself; a stopped one does not.
    this.#child.kill('SIGKILL')
    await this.#exited
  }

  #isAlive(): boolean {
    return this.#started !== undefined && readStartTime(this.#init) === this.#started
  }

  /** As long as init is alive, no other process can get its number, or that of its group. */
  #kill(target: number, signal: NodeJS.Signals): void {
    if (!this.#isAlive()) return
    try {
      process.kill(target, signal)
    } catch {
      // It has just ended.
    }
  }
}

const notReady = (timeoutMs: number): SallyportError =>
  new SallyportError('SANDBOX_UNAVAILABLE', `The sandbox was not ready after ${timeoutMs / 1_000} seconds.`, {
    hint: 'The machine may be overloaded, or a mounted folder may not answer. Try again.',
  })

function notCreated({ code, signal, error }: Exit): SallyportError {
  const how =
    error?.message ?? (signal === null ? `bubblewrap exited with code ${code}` : `bubblewrap was killed by ${signal}`)
  return new SallyportError('SANDBOX_UNAVAILABLE', `The sandbox could not be created: ${how}.`, {
    hint: 'What bubblewrap wrote to stderr says why.',
  })
}

function notAsExpected(differences: readonly string[]): SallyportError {
  const what = `The sandbox is not what it should be: ${differences.join('; ')}. Nothing was started in it.`
  return new SallyportError('SANDBOX_UNAVAILABLE', what, {
    hint: 'Check which bubblewrap this is (`command -v bwrap`, `bwrap --version`), and report it if it is the one of your system.',
  })
}
