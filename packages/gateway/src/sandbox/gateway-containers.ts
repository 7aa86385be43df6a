import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf } from '@sallyport/core'
import type { SandboxDrivers } from './choose-driver.ts'
import { type ContainerSpec, createContainerDriver } from './drivers/containers/container-driver.ts'
import { type ContainerOwner, sweepContainers } from './drivers/containers/container-owner.ts'
import { DOCKER, Engine, type EngineKind, PODMAN } from './drivers/containers/engine.ts'
import type { SandboxDriver } from './drivers/driver.ts'
import { findInPath } from './files/find-in-path.ts'

export interface GatewayContainersOptions {
  /** The state folder. */
  readonly state: string
  /** The mark of this run. */
  readonly run: string
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Called before the first container of an engine is created, so that somebody removes them if we die. */
  readonly onFirstUse: (program: string) => void
  readonly onWarning: (text: string) => void
}

/** Written before the first container is created: a state without it has never had one. */
const OWNER_FILE = 'container-owner'
const OWNER = /^[0-9a-f]{32}$/

interface OwnedContainers extends Pick<GatewayContainersOptions, 'environment' | 'onFirstUse'> {
  readonly owner: () => ContainerOwner
}

/** The drivers of all engines, whose containers have one owner. */
export function createContainerDrivers({
  environment,
  owner,
  onFirstUse,
}: OwnedContainers): Pick<SandboxDrivers, 'docker' | 'podman'> {
  const create = (kind: EngineKind) =>
    createContainerDriver({ kind, environment, owner, onFirstUse: ({ program }) => onFirstUse(program) })
  return { docker: create(DOCKER), podman: create(PODMAN) }
}

/** The containers of one gateway. */
export class GatewayContainers {
  readonly docker: SandboxDriver<ContainerSpec>
  readonly podman: SandboxDriver<ContainerSpec>
  readonly #options: GatewayContainersOptions
  #state: string | undefined

  constructor(options: GatewayContainersOptions) {
    this.#options = options
    const { docker, podman } = createContainerDrivers({ ...options, owner: () => this.#owner() })
    this.docker = docker
    this.podman = podman
  }

  /** Removes what a crash left, of this state only. An engine that does not answer runs nothing either. */
  async sweep(): Promise<void> {
    const { state, environment, onWarning } = this.#options
    if (!existsSync(join(state, OWNER_FILE))) return
    for (const kind of [DOCKER, PODMAN]) {
      const program = findInPath(kind.name, environment.PATH)
      if (program === undefined) continue
      try {
        const removed = await sweepContainers(new Engine(kind, program, environment), this.#owner())
        if (removed > 0) onWarning(`${removed} containers of an earlier run were removed (${kind.name}).`)
      } catch (error) {
        onWarning(`It is not known whether ${kind.name} has containers of an earlier run: ${messageOf(error)}`)
      }
    }
  }

  #owner(): ContainerOwner {
    this.#state ??= this.#readState()
    return { state: this.#state, run: this.#options.run, process: String(process.pid) }
  }

  /** A random name: the path of the folder may be the same on another machine that uses the same engine. */
  #readState(): string {
    const file = join(this.#options.state, OWNER_FILE)
    const stored = existsSync(file) ? readFileSync(file, 'utf8').trim() : ''
    if (OWNER.test(stored)) return stored
    const created = randomBytes(16).toString('hex')
    writeFileSync(file, `${created}\n`, { mode: 0o600 })
    return created
  }
}
