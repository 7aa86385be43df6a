import type { ChildProcess } from 'node:child_process'
import {
  type EgressPolicy,
  type HostRule,
  isWiderMode,
  messageOf,
  type NetworkMode,
  type SallyportEvent,
} from '@sallyport/core'
import type { CallEgress } from './call-egress.ts'
import { WORKSPACE } from './drivers/bubblewrap-arguments.ts'
import { DEFAULT_LIMITS, type PreparedSandbox, type SandboxDriver, type SandboxedProgram } from './drivers/driver.ts'
import type { EgressDecision } from './egress/egress.ts'
import { EgressRecords } from './egress-records.ts'
import { parseMount } from './files/parse-mount.ts'
import { planProgram } from './files/plan-program.ts'
import type { ProtectedFolders } from './files/protected-folders.ts'
import { openSandbox, type Sandbox } from './open-sandbox.ts'
import { buildSandboxEnvironment } from './sandbox-environment.ts'

export interface SandboxesOptions {
  readonly driver: SandboxDriver
  readonly protection: ProtectedFolders
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  /** The hosts that private data may reach. */
  readonly allow: () => readonly HostRule[]
  /** Throws if the event cannot be recorded: then the connection or the process that it is about is not started. */
  readonly record: (event: SallyportEvent) => void
  /** Never throws. */
  readonly onEvent: (event: SallyportEvent) => void
}

/** A server process that is about to be started in a sandbox. */
export interface SandboxedServer {
  readonly server: string
  readonly command: readonly [string, ...string[]]
  /** `undefined`: that of the gateway. */
  readonly cwd: string | undefined
  readonly env: Readonly<Record<string, string>>
  readonly mounts: readonly string[]
  /** What the session that the process serves allows, at this moment. It only becomes narrower. */
  readonly networkMode: () => NetworkMode
  /** The calls in flight in the process, at this moment. */
  readonly calls: () => Iterable<CallEgress>
  readonly onNote: (text: string) => void
}

/** The sandboxes of all server processes. What each of them can reach follows the label of its session. */
export class Sandboxes {
  readonly #options: SandboxesOptions
  readonly #open = new Set<ServerSandbox>()

  constructor(options: SandboxesOptions) {
    this.#options = options
  }

  /** Rejects if programs cannot be isolated here, or this one cannot be started in a sandbox. */
  async open(server: SandboxedServer): Promise<ServerSandbox> {
    const { driver, protection, environment, record } = this.#options
    const { command, cwd = this.#options.cwd } = server
    const mounts = server.mounts.map((written) => parseMount(written, { cwd, protection }))
    const request = { command, cwd, environment: { ...environment, ...server.env }, mounts, protection }
    const { notes, ...plan } = planProgram(request)
    for (const note of notes) server.onNote(note)
    if (server.cwd !== undefined && plan.cwd === WORKSPACE)
      server.onNote(`It starts in ${WORKSPACE}, since it cannot see its cwd ${cwd}: add that to mounts.`)
    const mode = server.networkMode()
    const records = new EgressRecords({ server: server.server, record })
    const sandbox = await openSandbox({
      driver,
      spec: { ...plan, env: buildSandboxEnvironment(environment, server.env), limits: DEFAULT_LIMITS },
      policy: this.#policyFor(mode),
      onDecision: (decision) => this.#decided(decision, server, records),
    })
    try {
      record({ type: 'SANDBOX_STARTED', server: server.server, driver: driver.name, mode })
    } catch (error) {
      await sandbox.close()
      throw error
    }
    const opened = new ServerSandbox({ sandbox, server, mode, onClose: () => this.#close(opened, records) })
    this.#open.add(opened)
    // The label may have risen meanwhile.
    this.#applyTo(opened)
    return opened
  }

  /** Call this when the label of a session has risen. When it returns, nothing leaves that the new label forbids. */
  narrow(): void {
    for (const opened of this.#open) this.#applyTo(opened)
  }

  #applyTo(opened: ServerSandbox): void {
    let narrowed: Narrowing | undefined
    try {
      narrowed = opened.apply((mode) => this.#policyFor(mode))
    } catch (error) {
      // The others must still be narrowed. Without its proxy, nothing leaves this one.
      opened.server.onNote(`Its sandbox could not be narrowed, so it has no network any more: ${messageOf(error)}`)
      opened.close().catch(() => opened.server.onNote('The folder of its sandbox could not be removed.'))
    }
    if (narrowed) this.#options.onEvent({ type: 'SANDBOX_NARROWED', server: opened.server.server, ...narrowed })
  }

  /** Throws if it cannot be recorded. */
  #decided(decision: EgressDecision, { calls, networkMode }: SandboxedServer, records: EgressRecords): void {
    const inFlight = [...calls()]
    try {
      records.add(decision, inFlight)
    } finally {
      if (!decision.ok) for (const call of inFlight) call.addFailed(decision, this.#policyFor(networkMode()))
    }
  }

  #close(opened: ServerSandbox, records: EgressRecords): void {
    this.#open.delete(opened)
    records.flush()
  }

  #policyFor(mode: NetworkMode): EgressPolicy {
    return { mode, allow: this.#options.allow() }
  }
}

interface ServerSandboxState {
  readonly sandbox: Sandbox
  readonly server: SandboxedServer
  readonly mode: NetworkMode
  readonly onClose: () => void
}

/** How a sandbox became narrower. */
interface Narrowing {
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

  constructor(state: ServerSandboxState) {
    this.#state = state
    this.#mode = state.mode
  }

  get server(): SandboxedServer {
    return this.#state.server
  }

  get launch(): Pick<PreparedSandbox, 'command' | 'args' | 'env' | 'descriptors'> {
    return this.#state.sandbox.launch
  }

  admit(child: ChildProcess): Promise<SandboxedProgram> {
    return this.#state.sandbox.admit(child)
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

  /** The process must have ended before. */
  async close(): Promise<void> {
    this.#state.onClose()
    await this.#state.sandbox.close()
  }
}
