import type { ChildProcess } from 'node:child_process'
import { type EgressPolicy, isWiderMode, type NetworkMode, SallyportError } from '@sallyport/core'
import type { CallEgress } from './call-egress.ts'
import type { DriverChoice } from './choose-driver.ts'
import type { Forward, PreparedSandbox, SandboxedProgram, SandboxLimits } from './drivers/driver.ts'
import type { Sandbox } from './open-sandbox.ts'

/** A server process that is about to be started in a sandbox. */
export interface SandboxedServer {
  readonly server: string
  readonly driver: DriverChoice
  /** The program is one of this image; `undefined`: of this machine. */
  readonly image: string | undefined
  /** With an image, the first one is empty if its own program is meant. */
  readonly command: readonly [string, ...string[]]
  /** `undefined`: that of the gateway, or of the image. */
  readonly cwd: string | undefined
  readonly env: Readonly<Record<string, string>>
  readonly mounts: readonly string[]
  readonly forwards?: readonly Forward[] | undefined
  /** Whether it has the network of this machine as long as its session allows everything. */
  readonly wantsHostNetwork?: boolean
  readonly limits?: Partial<SandboxLimits> | undefined
  /** Whose workspace it sees; `undefined`: one of its own, as long as it runs. */
  readonly session?: string | undefined
  /** The session whose calls it gets, also if that is a sub-agent's; `undefined`: none. */
  readonly serves?: string | undefined
  /** What that session allows, at this moment. It only becomes narrower. */
  readonly networkMode: () => NetworkMode
  /** It reaches too much for its session now, and must end: from now on it gets no calls. */
  readonly onTooWide?: () => void
  /** The calls in flight in the process, at this moment. */
  readonly calls: () => Iterable<CallEgress>
  readonly onNote: (text: string) => void
}

/** What there is to show of the sandbox of a process. */
export interface OpenSandboxFacts {
  readonly server: string
  readonly driver: string
  readonly mode: NetworkMode
  /** It has the network of this machine. */
  readonly hasHostNetwork: boolean
  readonly since: number
  /** The owner key of its session, if it serves one. */
  readonly session: string | undefined
}

interface ServerSandboxState {
  readonly sandbox: Sandbox
  readonly driver: string
  readonly server: SandboxedServer
  readonly mode: NetworkMode
  readonly hasHostNetwork: boolean
  readonly since: number
  readonly onClose: () => void
}

/** How a sandbox became narrower. */
export interface Narrowing {
  readonly from: NetworkMode
  readonly to: NetworkMode
  /** Connections that were ended by it. */
  readonly cut: number
  readonly took_us: number
}

/** The sandbox of one process of a server. */
export class ServerSandbox {
  readonly #state: ServerSandboxState
  #mode: NetworkMode
  #admitting: Promise<SandboxedProgram> | undefined
  #program: SandboxedProgram | undefined
  #stopReason: string | undefined
  /** Resolves when nothing inside is alive. */
  readonly closed: Promise<void>
  #onClosed: (() => void) | undefined

  constructor(state: ServerSandboxState) {
    this.#state = state
    this.#mode = state.mode
    this.closed = new Promise((resolve) => {
      this.#onClosed = resolve
    })
  }

  get server(): SandboxedServer {
    return this.#state.server
  }

  get facts(): OpenSandboxFacts {
    const { server, driver, since, hasHostNetwork } = this.#state
    return { server: server.server, driver, since, mode: this.#mode, hasHostNetwork, session: server.session }
  }

  get launch(): Pick<PreparedSandbox, 'command' | 'args' | 'env' | 'descriptors'> {
    return this.#state.sandbox.launch
  }

  /** Why the program ended, if the gateway or a limit was the reason. */
  get endReason(): string | undefined {
    return this.#stopReason ?? this.#state.sandbox.explainEnd()
  }

  async admit(child: ChildProcess): Promise<SandboxedProgram> {
    this.#admitting = this.#state.sandbox.admit(child)
    this.#program = await this.#admitting
    if (this.#stopReason === undefined) return this.#program
    await this.#program.stop()
    throw new SallyportError('UPSTREAM_UNAVAILABLE', `Server ${this.server.server} ${this.#stopReason}.`)
  }

  /** Kills everything inside, also if it is only about to start. The rest is `close`. */
  stop(reason: string): void {
    this.#stopReason ??= reason
    this.#program?.stop().catch(() => {
      if (this.#state.hasHostNetwork) return this.server.onNote('It could not be stopped.')
      this.server.onNote('It could not be stopped, so it has no network any more.')
      // Modes never become wider, so that no change of labels or lists gives the network back.
      this.#mode = 'NONE'
      this.#state.sandbox.setPolicy({ mode: 'NONE', allow: [] })
    })
  }

  /** Applies what the session allows now. Returns what changed. */
  apply(policyFor: (mode: NetworkMode) => EgressPolicy): Narrowing | undefined {
    const from = this.#mode
    const wanted = this.#state.server.networkMode()
    const to = isWiderMode(wanted, from) ? from : wanted
    const startedAt = performance.now()
    const { cut } = this.#state.sandbox.setPolicy(policyFor(to))
    this.#mode = to
    return to === from ? undefined : { from, to, cut, took_us: Math.round((performance.now() - startedAt) * 1_000) }
  }

  /** The command that started the process must have ended before. */
  async close(): Promise<void> {
    try {
      if (this.#state.hasHostNetwork) await this.#endProgram()
      this.#onClosed?.()
      await this.#state.sandbox.close()
    } finally {
      this.#state.onClose()
    }
  }
  /** What is inside outlives the command that started it by a moment, in which it could still send. */
  async #endProgram(): Promise<void> {
    await this.#admitting?.catch(() => undefined)
    await this.#program?.stop()
  }
}
