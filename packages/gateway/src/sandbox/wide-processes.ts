import { type NetworkMode, SallyportError } from '@sallyport/core'

/** A process with the network of this machine. Nothing can narrow that, so it ends when its session may reach less. */
export interface WideProcess {
  readonly server: string
  /** It can do everything else that the user may, too. */
  readonly isUnsandboxed: boolean
  /** The owner key of the session that it serves. */
  readonly session: string | undefined
  /** What that session allows, at this moment. */
  readonly networkMode: () => NetworkMode
  /** From now on it gets no calls. It ends when those in flight have been answered. */
  readonly retire: () => void
  /** Kills it, with everything that it started. */
  readonly kill: (reason: string) => void
  /** Resolves when nothing of it is alive. */
  readonly closed: Promise<void>
}

/** A process that was too wide, and has ended. */
export interface EndedProcess extends Pick<WideProcess, 'server' | 'isUnsandboxed'> {
  readonly to: NetworkMode
  readonly took_us: number
  readonly reason: string
}

export interface WideProcessesOptions {
  readonly onEnded: (ended: EndedProcess) => void
  /** How long calls in flight may take before the process is killed. */
  readonly drainTimeoutMs?: number
  /** How long anybody waits for its end. */
  readonly endTimeoutMs?: number
}

const DRAIN_TIMEOUT_MS = 2_000
const END_TIMEOUT_MS = 10_000

/** The processes that cannot be narrowed. While one is too wide for its session, that session has to wait. */
export class WideProcesses {
  readonly #options: WideProcessesOptions
  readonly #open = new Set<WideProcess>()
  /** By session: those that are too wide, and not dead yet. */
  readonly #ending = new Map<string, Set<Promise<void>>>()

  constructor(options: WideProcessesOptions) {
    this.#options = options
  }

  /** Its label may have risen while it was prepared: then it is ended at once. */
  add(process: WideProcess): void {
    this.#open.add(process)
    void process.closed.then(() => this.#open.delete(process))
    this.#check(process)
  }

  /** Call this when a label has risen. */
  narrow(): void {
    for (const process of [...this.#open]) this.#check(process)
  }

  /**
   * Resolves when no process of the session is too wide; `undefined` if none is. Rejects if one cannot be ended: then
   * nothing of the session may be sent or released.
   */
  ending(session: string): Promise<void> | undefined {
    const ending = this.#ending.get(session)
    return ending && this.#waitFor([...ending])
  }

  get isEnding(): boolean {
    return this.#ending.size > 0
  }

  #check(process: WideProcess): void {
    const to = readMode(process)
    if (to === 'FULL') return
    this.#open.delete(process)
    const { onEnded, drainTimeoutMs = DRAIN_TIMEOUT_MS } = this.#options
    const { server, isUnsandboxed } = process
    const reason = describeEnd(to)
    const startedAt = performance.now()
    const timer = setTimeout(() => process.kill(reason), drainTimeoutMs)
    const ended = process.closed.then(() => {
      clearTimeout(timer)
      this.#forget(process, ended)
      const took_us = Math.round((performance.now() - startedAt) * 1_000)
      onEnded({ server, isUnsandboxed, to, took_us, reason })
    })
    this.#remember(process, ended)
    try {
      process.retire()
    } catch {
      // The others must still be ended.
      process.kill(reason)
    }
  }

  #remember({ session = '' }: WideProcess, ended: Promise<void>): void {
    const known = this.#ending.get(session) ?? new Set()
    this.#ending.set(session, known.add(ended))
  }

  #forget({ session = '' }: WideProcess, ended: Promise<void>): void {
    const known = this.#ending.get(session)
    known?.delete(ended)
    if (known?.size === 0) this.#ending.delete(session)
  }

  async #waitFor(ending: readonly Promise<void>[]): Promise<void> {
    const { endTimeoutMs = END_TIMEOUT_MS } = this.#options
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(notEnded()), endTimeoutMs)
    })
    try {
      await Promise.race([Promise.all(ending), late])
    } finally {
      clearTimeout(timer)
    }
  }
}

/** A label that cannot be read counts as the strictest. */
function readMode({ networkMode }: WideProcess): NetworkMode {
  try {
    return networkMode()
  } catch {
    return 'NONE'
  }
}

const describeEnd = (mode: NetworkMode): string =>
  `was ended: it had the network of this machine, and its session may only reach what network mode ${mode} allows`

const notEnded = (): SallyportError =>
  new SallyportError('SANDBOX_UNAVAILABLE', 'A process of this session that reaches too much could not be ended.', {
    hint: 'Nothing of the session is sent or released until it has ended. Restart the gateway, and report it.',
  })
