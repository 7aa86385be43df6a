import type { ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { SallyportError } from '@sallyport/core'
import { findInPath } from '../../files/find-in-path.ts'
import { BRIDGE_PORT } from '../bridge.ts'
import type {
  ImageSpec,
  PreparedSandbox,
  ProbeResult,
  SandboxDriver,
  SandboxedProgram,
  SandboxParts,
  SandboxSpec,
} from '../driver.ts'
import { hasListener } from '../process-facts.ts'
import { type BaseImage, createBaseImage, importBaseImage } from './base-image.ts'
import { attestContainer, type ContainerState, compareSettings, parseContainerState } from './container-check.ts'
import {
  type BridgeParts,
  type ContainerPlan,
  type ImageSettings,
  type PlanContext,
  planBridge,
  planImageContainer,
  planProgramContainer,
} from './container-options.ts'
import { type ContainerOwner, labelsOf, removeContainers } from './container-owner.ts'
import { Engine, type EngineKind } from './engine.ts'
import {
  explainReply,
  NOT_LINUX,
  noImage,
  notAsExpected,
  notCreated,
  notHere,
  notInstalled,
} from './engine-problems.ts'

export interface ContainerDriverOptions {
  readonly kind: EngineKind
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly owner: () => ContainerOwner
  /** Called before the first container is created, so that somebody ends them if we die. */
  readonly onFirstUse?: (engine: Engine) => void
  readonly platform?: NodeJS.Platform
}

export type ContainerSpec = SandboxSpec | ImageSpec

/** Isolates programs in containers: one that has the network and our bridge, and one for the program, which joins it. */
export function createContainerDriver(options: ContainerDriverOptions): SandboxDriver<ContainerSpec> {
  const { kind, environment, platform = process.platform } = options
  let ready: Readiness | undefined
  let probing: Promise<ProbeResult> | undefined
  const tryOut = async (): Promise<ProbeResult> => {
    if (platform !== 'linux') return NOT_LINUX
    const program = findInPath(kind.name, environment.PATH)
    if (program === undefined) return notInstalled(kind)
    const engine = new Engine(kind, program, environment)
    const result = await probe(engine, options.owner())
    if ('ok' in result) return result
    ready = result
    options.onFirstUse?.(engine)
    return { ok: true }
  }
  return {
    name: kind.name,
    probe: () => {
      // What is missing now may be installed or started later.
      probing ??= tryOut().then((result) => {
        if (!result.ok) probing = undefined
        return result
      })
      return probing
    },
    prepare: async (spec, parts) => {
      if (ready === undefined) throw new SallyportError('INTERNAL', `A container was prepared without ${kind.name}.`)
      const pair = new ContainerPair(ready, options.owner(), parts.server)
      try {
        await pair.create(spec, parts)
        return pair.prepared()
      } catch (error) {
        await pair.remove()
        throw error
      }
    },
  }
}

/** What the probe has found out. */
interface Readiness {
  readonly engine: Engine
  readonly baseImage: BaseImage
  readonly hasInit: boolean
}

/** Creates a real bridge in a real container. */
async function probe(engine: Engine, owner: ContainerOwner): Promise<ProbeResult | Readiness> {
  const baseImage = createBaseImage()
  const failed = await importBaseImage(engine, baseImage)
  if (failed !== undefined) return { ok: false, ...explainReply(engine.kind, failed) }
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-probe-'))
  const egressSocket = join(folder, 'egress.sock')
  const server = createServer().listen(egressSocket)
  try {
    await once(server, 'listening')
    // Without a first process of the engine's own it works too: then the program is process 1.
    for (const hasInit of [true, false]) {
      const pair = new ContainerPair({ engine, baseImage, hasInit }, owner, 'probe')
      try {
        await pair.startBridge({ egressSocket }, hasInit)
        return { engine, baseImage, hasInit }
      } catch (error) {
        if (!(error instanceof SallyportError)) throw error
        if (hasInit && /init/.test(error.message)) continue
        return { ok: false, reason: error.message.replace(/\.$/, ''), fix: error.hint ?? '' }
      } finally {
        await pair.remove()
      }
    }
    return notHere(engine.kind)
  } finally {
    server.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

const START_TIMEOUT_MS = 30_000
/** There is no event for what happens in a container. */
const POLL_MS = 5

/** The two containers of one sandbox. */
class ContainerPair {
  readonly #ready: Readiness
  readonly #owner: ContainerOwner
  readonly #server: string
  readonly #id = randomBytes(6).toString('hex')
  #plan: ContainerPlan | undefined
  #bridge: ContainerState | undefined
  #waitsForLine = false

  constructor(ready: Readiness, owner: ContainerOwner, server: string) {
    this.#ready = ready
    this.#owner = owner
    this.#server = server
  }

  async create(spec: ContainerSpec, parts: SandboxParts): Promise<void> {
    const { kind } = this.#ready.engine
    const image = 'image' in spec ? await this.#inspectImage(spec.image) : undefined
    const bridge = await this.startBridge({ egressSocket: parts.egressSocket, forwards: spec.forwards }, false)
    const context = this.#context('server', `container:${bridge.id}`)
    this.#waitsForLine = !('image' in spec)
    this.#plan =
      'image' in spec
        ? planImageContainer(context, spec, { ...parts, image: image as ImageSettings })
        : planProgramContainer(context, spec, parts)
    await this.#create(this.#plan)
    rmSync(join(parts.folder, 'environment'), { force: true })
    const state = await this.#inspect(this.#nameOf('server'))
    if (state === undefined) throw notAsExpected(kind, ['the engine does not know it'])
    const differences = compareSettings(state, this.#plan.wanted)
    if (differences.length > 0) throw notAsExpected(kind, differences)
  }

  prepared(): PreparedSandbox {
    const { engine } = this.#ready
    return {
      command: engine.program,
      args: ['start', '--attach', '--interactive', this.#nameOf('server')],
      env: engine.environment,
      descriptors: [],
      stdin: 'pipe',
      admit: (child) => this.#admit(child),
      close: () => this.remove(),
    }
  }

  /** Starts our bridge, and checks its network, before anything else joins it. */
  async startBridge(parts: BridgeParts, hasInit: boolean): Promise<ContainerState> {
    const { engine } = this.#ready
    const plan = planBridge({ ...this.#context('bridge', 'none'), hasInit }, parts)
    await this.#create(plan)
    const started = await engine.run(['start', this.#nameOf('bridge')])
    if (started.code !== 0) throw notCreated(engine.kind, started)
    const state = await this.#inspect(this.#nameOf('bridge'))
    if (state === undefined || !state.isRunning) throw notAsExpected(engine.kind, ['our bridge does not run in it'])
    const ports = [BRIDGE_PORT, ...(parts.forwards ?? []).map(({ listen }) => listen)]
    await this.#waitForBridge(state.pid, ports)
    const differences = [...compareSettings(state, plan.wanted), ...attestContainer(state.pid, plan).differences]
    if (differences.length > 0) throw notAsExpected(engine.kind, differences)
    this.#bridge = state
    return state
  }

  /** Resolves when the engine knows neither of them any more. */
  async remove(): Promise<void> {
    await removeContainers(this.#ready.engine, `sallyport.sandbox=${this.#id}`)
  }

  async #waitForBridge(pid: number, ports: readonly number[]): Promise<void> {
    const { kind } = this.#ready.engine
    const deadline = performance.now() + START_TIMEOUT_MS
    while (!ports.every((port) => hasListener(pid, port))) {
      const isHere = await this.#isAlive('bridge')
      const { reason, fix } = notHere(kind)
      if (!isHere || performance.now() > deadline)
        throw new SallyportError('SANDBOX_UNAVAILABLE', `${reason}.`, { hint: fix })
      await delay(POLL_MS)
    }
  }

  async #isAlive(part: Part): Promise<boolean> {
    return (await this.#inspect(this.#nameOf(part)))?.isRunning === true
  }

  /** The program has got no input yet, and a program of this machine has not even started. */
  async #admit(child: ChildProcess): Promise<SandboxedProgram> {
    const { engine } = this.#ready
    try {
      const state = await this.#waitForStart(child)
      const networkOf = this.#bridge?.pid ?? 0
      const { differences } = attestContainer(state.pid, { mounts: this.#plan?.mounts ?? [], networkOf })
      if (differences.length > 0) throw notAsExpected(engine.kind, differences)
      if (this.#waitsForLine) child.stdin?.write('start\n')
      return {
        pid: state.pid,
        // The engine's program passes signals on.
        signal: (signal) => void child.kill(signal),
        stop: async () => {
          try {
            await this.remove()
          } finally {
            child.kill('SIGKILL')
          }
        },
      }
    } catch (error) {
      await this.remove()
      throw error
    }
  }

  async #waitForStart(child: ChildProcess): Promise<ContainerState> {
    const deadline = performance.now() + START_TIMEOUT_MS
    while (performance.now() < deadline) {
      if (child.exitCode !== null || child.signalCode !== null) throw exitedEarly(child)
      const state = await this.#inspect(this.#nameOf('server'))
      if (state?.isRunning && state.pid > 0) return state
      await delay(POLL_MS)
    }
    throw new SallyportError(
      'SANDBOX_UNAVAILABLE',
      `The container did not start in ${START_TIMEOUT_MS / 1_000} seconds.`,
    )
  }

  #context(part: Part, network: string): PlanContext {
    const { engine, baseImage, hasInit } = this.#ready
    return {
      kind: engine.kind,
      name: this.#nameOf(part),
      labels: { ...labelsOf(this.#owner), 'sallyport.server': this.#server, 'sallyport.sandbox': this.#id },
      baseImage: baseImage.name,
      network,
      hasInit,
    }
  }

  #nameOf(part: Part): string {
    return `sallyport-${this.#id}-${part}`
  }

  async #create({ args, variables }: ContainerPlan): Promise<void> {
    const { engine, baseImage } = this.#ready
    const create = () => engine.run(args, { variables })
    let reply = await create()
    // Somebody has removed the images that no container used.
    if (reply.code !== 0 && reply.stderr.includes(baseImage.name)) {
      await importBaseImage(engine, baseImage)
      reply = await create()
    }
    if (reply.code !== 0) throw notCreated(engine.kind, reply)
  }

  async #inspect(name: string): Promise<ContainerState | undefined> {
    const { code, stdout } = await this.#ready.engine.run(['container', 'inspect', name])
    return code === 0 ? parseContainerState(stdout) : undefined
  }

  async #inspectImage(image: string): Promise<ImageSettings> {
    const { engine } = this.#ready
    const reply = await engine.run(['image', 'inspect', '--format', '{{json .Config}}', image])
    if (reply.code !== 0)
      throw /no such image|not known|not found/i.test(reply.stderr)
        ? noImage(engine.kind, image)
        : notCreated(engine.kind, reply)
    const { User, Volumes } = JSON.parse(reply.stdout) as Record<string, unknown>
    return { user: String(User ?? ''), volumes: Object.keys(Volumes ?? {}) }
  }
}

type Part = 'bridge' | 'server'

const exitedEarly = ({ exitCode, signalCode }: ChildProcess): SallyportError =>
  new SallyportError(
    'SANDBOX_UNAVAILABLE',
    `The container could not be started, or its program ended at once: ${signalCode ?? `code ${exitCode}`}.`,
    { hint: 'What was written to stderr says why.' },
  )
