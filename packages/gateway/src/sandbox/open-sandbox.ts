import type { ChildProcess } from 'node:child_process'
import { lstatSync, mkdtempSync, rmSync } from 'node:fs'
import { readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type EgressPolicy, type NetworkMode, SallyportError } from '@sallyport/core'
import { sweepCgroups } from './drivers/cgroup.ts'
import type { PreparedSandbox, SandboxDriver, SandboxedProgram } from './drivers/driver.ts'
import { type EgressDecision, type EgressProxy, openEgressProxy } from './egress/egress.ts'

export interface OpenSandboxOptions<Spec> {
  readonly driver: SandboxDriver<Spec>
  /** The server that it is for. */
  readonly server: string
  readonly spec: Spec
  readonly policy: EgressPolicy
  readonly onDecision: (decision: EgressDecision) => void
  /** Whose sandbox it is, for `sweepSandboxes`. */
  readonly owner?: string | undefined
}

const PREFIX = 'sallyport-sandbox-'
/** Who runs a program in a sandbox without a gateway. */
const NOBODY = 'run'
/** A group of a sandbox that is only about to start has no processes either. */
const MIN_AGE_MS = 60_000

/** Creates the egress proxy of a sandbox and the command line that starts it. Rejects if sandboxes do not work here. */
export async function openSandbox<Spec>(options: OpenSandboxOptions<Spec>): Promise<Sandbox> {
  const { driver, server, spec, policy, onDecision, owner = NOBODY } = options
  await requireDriver(driver, policy.mode)
  if (owner === NOBODY) sweepCgroups(`${PREFIX}${NOBODY}-`, MIN_AGE_MS)
  const folder = mkdtempSync(join(shortTemporaryFolder(), `${PREFIX}${owner}-`))
  let egress: EgressProxy | undefined
  try {
    const egressSocket = join(folder, 'egress.sock')
    egress = await openEgressProxy({ socketPath: egressSocket, policy, onDecision })
    const prepared = await driver.prepare(spec, { server, egressSocket, folder })
    return new Sandbox({ folder, egress, prepared })
  } catch (error) {
    await egress?.close()
    rmSync(folder, { recursive: true, force: true })
    throw error
  }
}

/** Fails if the driver cannot isolate here: nothing ever runs without the sandbox that it asks for. */
async function requireDriver(driver: Pick<SandboxDriver, 'probe'>, mode: NetworkMode): Promise<void> {
  const result = await driver.probe()
  if (result.ok) return
  const message = `Programs cannot run in network mode ${mode} here: ${result.reason}.`
  throw new SallyportError('SANDBOX_UNAVAILABLE', message, { hint: result.fix })
}

/** Removes what the sandboxes of an owner have left, if the machine went down while they started. Nobody else may use that name. */
export async function sweepSandboxes(owner: string): Promise<void> {
  sweepCgroups(`${PREFIX}${owner}-`, 0)
  const parent = shortTemporaryFolder()
  const names = await readdir(parent).catch(() => [])
  const own = names.filter((name) => name.startsWith(`${PREFIX}${owner}-`)).map((name) => join(parent, name))
  const isOurs = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.uid === process.getuid?.()
  for (const path of own.filter(isOurs)) await rm(path, { recursive: true, force: true }).catch(() => undefined)
}

/** The path of a socket has at most 107 bytes. */
function shortTemporaryFolder(): string {
  return Buffer.byteLength(tmpdir()) > 60 ? '/tmp' : tmpdir()
}

interface SandboxState {
  readonly folder: string
  readonly egress: EgressProxy
  readonly prepared: PreparedSandbox
}

/** A sandbox: what starts it, and its only way out. */
export class Sandbox {
  readonly #state: SandboxState

  constructor(state: SandboxState) {
    this.#state = state
  }

  /** Start it with these, with any stdout and stderr, and in a process group of its own. */
  get launch(): Pick<PreparedSandbox, 'command' | 'args' | 'env' | 'descriptors' | 'stdin'> {
    return this.#state.prepared
  }

  /** The program starts only if the sandbox is what it should be. */
  async admit(child: ChildProcess): Promise<SandboxedProgram> {
    const program = await this.#state.prepared.admit(child)
    // The sandbox holds the files now, so a killed gateway leaves none behind.
    this.#removeFolder()
    return program
  }

  /** Why the program ended, if a limit was the reason. */
  explainEnd(): string | undefined {
    return this.#state.prepared.explainEnd?.()
  }

  /** Applies from now on, also to open connections. */
  setPolicy(policy: EgressPolicy): { readonly cut: number } {
    return this.#state.egress.setPolicy(policy)
  }

  /** Nothing leaves any more. The command that started the program must have ended before. */
  async close(): Promise<void> {
    const { egress, prepared } = this.#state
    await egress.close()
    await prepared.close()
    this.#removeFolder()
  }

  #removeFolder(): void {
    rmSync(this.#state.folder, { recursive: true, force: true })
  }
}
