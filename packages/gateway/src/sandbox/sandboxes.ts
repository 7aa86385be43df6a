import { chmodSync } from 'node:fs'
import {
  type EgressPolicy,
  type HostRule,
  messageOf,
  type NetworkMode,
  type Principal,
  SallyportError,
  type SallyportEvent,
  toOwnerKey,
} from '@sallyport/core'
import type { SandboxDrivers } from './choose-driver.ts'
import { WORKSPACE } from './drivers/bubblewrap-arguments.ts'
import type { Mount, SandboxLimits } from './drivers/driver.ts'
import type { EgressDecision } from './egress/egress.ts'
import { EgressRecords } from './egress-records.ts'
import { parseMount } from './files/parse-mount.ts'
import type { ProtectedFolders } from './files/protected-folders.ts'
import { sweepSandboxes } from './open-sandbox.ts'
import { planStart } from './plan-start.ts'
import { type Narrowing, type OpenSandboxFacts, type SandboxedServer, ServerSandbox } from './server-sandbox.ts'
import { unsandboxedError } from './unsandboxed-error.ts'
import { type WideProcess, WideProcesses } from './wide-processes.ts'
import type { SessionWorkspaces, UsedWorkspace } from './workspaces/session-workspaces.ts'

export interface SandboxesOptions {
  readonly drivers: SandboxDrivers
  /** Never rejects. */
  readonly sweepContainers: () => Promise<void>
  readonly protection: ProtectedFolders
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  /** The hosts that private data may reach. */
  readonly allow: () => readonly HostRule[]
  readonly limits: () => SandboxLimits
  readonly workspaces: Pick<SessionWorkspaces, 'use' | 'remove' | 'isEnded'>
  /** Whose sandboxes these are: no other gateway has the same name. */
  readonly owner: string
  /** Throws if the event cannot be recorded: then the connection or the process that it is about is not started. */
  readonly record: (event: SallyportEvent) => void
  /** Never throws. */
  readonly onEvent: (event: SallyportEvent) => void
}

/** The sandboxes of all server processes. What each of them can reach follows the label of its session. */
export class Sandboxes {
  readonly #options: SandboxesOptions
  readonly #open = new Set<ServerSandbox>()
  readonly #unsandboxed = new Map<WideProcess, OpenSandboxFacts>()
  readonly #wide: WideProcesses

  constructor(options: SandboxesOptions) {
    this.#options = options
    this.#wide = new WideProcesses({
      onEnded: ({ isUnsandboxed, reason, server, ...narrowed }) =>
        options.onEvent(
          isUnsandboxed
            ? { type: 'SANDBOX_STOPPED', server, reason }
            : { type: 'SANDBOX_NARROWED', server, ...narrowed, from: 'FULL', cut: 0, ended: true },
        ),
    })
  }

  /** Removes what a crash of the machine has left. An engine may be slow to answer, and is not waited for. */
  sweep(): Promise<void> {
    void this.#options.sweepContainers()
    return sweepSandboxes(this.#options.owner)
  }

  /** Rejects if programs cannot be isolated here, or this one cannot be started in a sandbox. */
  async open(server: SandboxedServer): Promise<ServerSandbox> {
    const { protection } = this.#options
    const { cwd = this.#options.cwd } = server
    const mounts = server.mounts.map((written) => parseMount(written, { cwd, protection }))
    let opened: ServerSandbox | undefined
    const workspace = this.#useWorkspace(server, mounts, (reason) => opened?.stop(reason))
    try {
      opened = await this.#openWith(server, { workspace, mounts: [...mounts, ...toMounts(workspace)] })
      return opened
    } catch (error) {
      workspace?.release()
      throw error
    }
  }

  async #openWith(server: SandboxedServer, { workspace, mounts }: Files): Promise<ServerSandbox> {
    const { record, owner } = this.#options
    // With the network of this machine it is not narrowed later, so what it gets is decided first.
    const hasHostNetwork = server.wantsHostNetwork === true && server.networkMode() === 'FULL'
    const options = { ...this.#options, limits: this.#options.limits(), hasHostNetwork }
    const start = await planStart(options, server, mounts)
    // The user in a container is another one. Nobody else can enter the folder around it.
    if (workspace !== undefined && start.driver !== 'bubblewrap') chmodSync(workspace.path, 0o777)
    const mode = hasHostNetwork ? 'FULL' : server.networkMode()
    const records = new EgressRecords({ server: server.server, record })
    const sandbox = await start.open({
      // Its way out is not the proxy.
      ...{ owner, server: server.server, policy: this.#policyFor(hasHostNetwork ? 'NONE' : mode) },
      onDecision: (decision) => this.#decided(decision, server, records),
    })
    try {
      this.#requireSession(server)
      const network = hasHostNetwork ? { network: 'host' as const } : {}
      record({ type: 'SANDBOX_STARTED', server: server.server, driver: start.driver, mode, ...network })
    } catch (error) {
      await sandbox.close()
      throw error
    }
    const onClose = (): void => {
      this.#open.delete(opened)
      records.flush()
      workspace?.release()
    }
    const facts = { mode, hasHostNetwork, driver: start.driver, since: Date.now() }
    const opened = new ServerSandbox({ sandbox, server, onClose, ...facts })
    this.#open.add(opened)
    // The label may have risen meanwhile.
    if (hasHostNetwork) this.#wide.add(toWideProcess(opened))
    else this.#applyTo(opened)
    return opened
  }

  /** The folder of the session, unless the entry mounts another one there. */
  #useWorkspace(
    { server, session, onNote }: SandboxedServer,
    mounts: readonly Mount[],
    stop: (reason: string) => void,
  ): UsedWorkspace | undefined {
    if (session === undefined || mounts.some(({ guest }) => guest === WORKSPACE)) return undefined
    const used = this.#options.workspaces.use(session, (reason) => {
      this.#options.onEvent({ type: 'SANDBOX_STOPPED', server, reason })
      stop(reason)
    })
    if ('path' in used) return used
    onNote(`${WORKSPACE} is private to this process, and empty: ${used.problem}.`)
    return undefined
  }

  /** The session may have ended while its sandbox was prepared. */
  #requireSession({ server, session }: Pick<SandboxedServer, 'server' | 'session'>): void {
    if (session !== undefined && this.#options.workspaces.isEnded(session))
      throw new SallyportError('UPSTREAM_UNAVAILABLE', `Server ${server} was not started: its session has ended.`)
  }

  /** Ends the processes of a session, and removes its workspace. */
  async endSession(owner: Pick<Principal, 'user' | 'session'>): Promise<void> {
    const session = toOwnerKey(owner)
    for (const opened of this.#open) if (opened.server.session === session) opened.stop(SESSION_ENDED)
    for (const process of this.#unsandboxed.keys()) if (process.session === session) process.kill(SESSION_ENDED)
    await this.#options.workspaces.remove(session)
  }

  /** A process that is about to start without a sandbox. Throws if it must not, or if that cannot be recorded. */
  addUnsandboxed(unsandboxed: Omit<WideProcess, 'isUnsandboxed'>): void {
    const process = { ...unsandboxed, isUnsandboxed: true }
    const { server, session, networkMode } = process
    const mode = networkMode()
    if (mode !== 'FULL') throw unsandboxedError(server, mode)
    this.#requireSession(process)
    this.#options.record({ type: 'SANDBOX_OMITTED', server })
    const facts = { server, session, mode, driver: 'none', hasHostNetwork: true, since: Date.now() }
    this.#unsandboxed.set(process, facts)
    this.#wide.add(process)
    void process.closed.then(() => this.#unsandboxed.delete(process))
  }

  /** Those that run now. */
  list(): readonly OpenSandboxFacts[] {
    return [...[...this.#open].map(({ facts }) => facts), ...this.#unsandboxed.values()]
  }

  /**
   * Call this when the label of a session has risen. When it returns, nothing leaves that the new label forbids, except
   * from processes with the network of this machine: `ending` waits for these.
   */
  narrow(): void {
    for (const opened of this.#open) if (!opened.facts.hasHostNetwork) this.#applyTo(opened)
    this.#wide.narrow()
  }

  /** Resolves when no process of a session reaches more than its label allows; `undefined` if none does. */
  ending(owner: Pick<Principal, 'user' | 'session'>): Promise<void> | undefined {
    return this.#wide.isEnding ? this.#wide.ending(toOwnerKey(owner)) : undefined
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

  #policyFor(mode: NetworkMode): EgressPolicy {
    return { mode, allow: this.#options.allow() }
  }
}

const SESSION_ENDED = 'was stopped: its session has ended'

interface Files {
  readonly workspace: UsedWorkspace | undefined
  readonly mounts: readonly Mount[]
}

const toMounts = (workspace: UsedWorkspace | undefined): readonly Mount[] =>
  workspace === undefined ? [] : [{ host: workspace.path, guest: WORKSPACE, access: 'write' }]

const toWideProcess = (opened: ServerSandbox): WideProcess => {
  const { server, serves, networkMode, onTooWide } = opened.server
  return {
    ...{ server, isUnsandboxed: false, session: serves, networkMode, closed: opened.closed },
    retire: () => onTooWide?.(),
    kill: (reason) => opened.stop(reason),
  }
}
