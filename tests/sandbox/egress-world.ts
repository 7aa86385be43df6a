import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { NetworkMode } from '@sallyport/core'
import type { EgressDecision, EgressStats } from '../../packages/gateway/src/sandbox/egress/egress.ts'
import { installPackages } from '../harness/debian-packages.ts'
import { eventually } from '../harness/processes.ts'
import { REPOSITORY } from '../harness/run-gateway.ts'
import { makeSelfSigned } from '../harness/self-signed.ts'

/** Whether networks can be made here. Installs what it needs if it may. */
export function canMakeNetworks(): boolean {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return miss('this needs root on Linux')
  const hasTools = (): boolean => ['ip', 'curl'].every((name) => spawnSync(name, ['-V']).error === undefined)
  if (!hasTools()) installPackages(['iproute2', 'curl'])
  if (!hasTools()) return miss('install iproute2 and curl')
  return spawnSync('unshare', ['--net', 'true']).status === 0 || miss('network namespaces are not allowed')
}

function miss(what: string): boolean {
  if (process.env.CI) throw new Error(`A second network cannot be made: ${what}.`)
  console.warn(`The egress proxy is not tested with a second network: ${what}.`)
  return false
}

/** The addresses of the internet: public ones, and ones that a sandbox must not reach although they answer. */
const INTERNET = [
  '198.51.100.2/24',
  '198.51.100.3/24',
  '2001:db8:5::2/64',
  '10.77.0.2/24',
  '172.20.0.2/24',
  '192.168.77.2/24',
  '169.254.169.254/16',
  '100.64.0.2/24',
  '168.63.129.16/24',
  '198.18.0.2/24',
  'fd99::2/64',
] as const
const GATEWAY = [
  '198.51.100.1/24',
  '2001:db8:5::1/64',
  '10.77.0.1/24',
  '172.20.0.1/24',
  '192.168.77.1/24',
  '169.254.0.1/16',
  '100.64.0.1/24',
  '168.63.129.1/24',
  '198.18.0.1/24',
  'fd99::1/64',
] as const
/** Packets to these go to a network card that does not exist: no answer and no error ever comes back. */
const SILENT = ['198.51.100.77', '2001:db8:5::77'] as const
const PORTS = ['80', '443', '5432', '53']

export interface PolicyText {
  readonly mode: NetworkMode
  readonly allow: readonly string[]
}

interface WorldOptions {
  readonly policy: PolicyText
  /** For each name the answers of its lookups, in order; the last one remains. */
  readonly names?: Readonly<Record<string, readonly (readonly string[])[]>>
}

/** Two networks: the machine of the gateway with an egress proxy, and the internet, which prints what arrives. */
export class EgressWorld {
  readonly socketPath: string
  readonly #folder: string
  readonly #gateway: ChildProcess
  readonly #internet: ChildProcess
  readonly #arrived: string[] = []
  readonly #ownMachine: string[] = []

  constructor() {
    this.#folder = mkdtempSync(join(tmpdir(), 'sallyport-internet-'))
    this.socketPath = join(this.#folder, 'egress.sock')
    const { key, cert } = makeSelfSigned()
    const base64 = (text: string): string => Buffer.from(text).toString('base64')
    this.#internet = startInNetwork('egress-internet.mjs', [base64(key), base64(cert), ...PORTS])
    this.#gateway = startInNetwork('egress-gateway.mjs', [])
    collectLines(this.#internet, this.#arrived)
    collectLines(this.#gateway, this.#ownMachine)
  }

  static async open(): Promise<EgressWorld> {
    const world = new EgressWorld()
    await once(world.#gateway, 'message')
    world.#connectNetworks()
    await eventually(
      () => world.#arrived,
      (lines) => lines.filter((line) => line === 'listening').length === PORTS.length,
    )
    return world
  }

  /** The lines of the internet: an address and a port for each connection, and what came with it. */
  get arrived(): readonly string[] {
    return this.#arrived
  }

  /** Connections to the machine of the gateway itself. */
  get ownMachine(): readonly string[] {
    return this.#ownMachine
  }

  /** Opens a new proxy, and forgets what has arrived. */
  async openProxy(options: WorldOptions): Promise<void> {
    await this.#ask('open', { names: {}, ...options, socketPath: this.socketPath })
    this.forget()
  }

  /** Forgets what has arrived. */
  forget(): void {
    this.#arrived.length = 0
    this.#ownMachine.length = 0
  }

  /** Arguments of nsenter, for the network of the gateway. */
  get enter(): readonly string[] {
    return ['--net', '--target', String(this.#gateway.pid)]
  }

  /** Starts a command in the network of the gateway. */
  start(command: readonly string[]): ChildProcess {
    return spawn('nsenter', [...this.enter, ...command], { stdio: ['ignore', 'pipe', 'inherit'] })
  }

  setPolicy(policy: PolicyText): Promise<{ readonly cut: number }> {
    return this.#ask('setPolicy', policy) as Promise<{ readonly cut: number }>
  }

  stats(): Promise<EgressStats> {
    return this.#ask('stats') as Promise<EgressStats>
  }

  decisions(): Promise<readonly EgressDecision[]> {
    return this.#ask('decisions') as Promise<readonly EgressDecision[]>
  }

  /** The networks go with the processes in them. */
  async close(): Promise<void> {
    await this.#ask('close')
    for (const child of [this.#gateway, this.#internet]) {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    }
    rmSync(this.#folder, { recursive: true })
  }

  async #ask(action: string, options: unknown = {}): Promise<unknown> {
    this.#gateway.send({ action, options })
    const [{ result, error }] = (await once(this.#gateway, 'message')) as [{ result?: unknown; error?: string }]
    if (error !== undefined) throw new Error(error)
    return result
  }

  #connectNetworks(): void {
    const { pid: near } = this.#gateway
    const { pid: far } = this.#internet
    const inside = (pid: number | undefined, ...args: readonly string[]): void => {
      const { status, stderr } = spawnSync('nsenter', ['--net', '--target', String(pid), 'ip', ...args], {
        encoding: 'utf8',
      })
      if (status !== 0) throw new Error(`ip ${args.join(' ')}: ${stderr}`)
    }
    inside(near, 'link', 'add', 'near', 'type', 'veth', 'peer', 'name', 'far', 'netns', String(far))
    const sides = [
      { pid: near, link: 'near', addresses: GATEWAY },
      { pid: far, link: 'far', addresses: INTERNET },
    ] as const
    for (const { pid, link, addresses } of sides) {
      for (const address of addresses)
        inside(pid, 'address', 'add', address, 'dev', link, ...(address.includes(':') ? ['nodad'] : []))
      for (const each of ['lo', link]) inside(pid, 'link', 'set', each, 'up')
    }
    for (const address of SILENT)
      inside(near, 'neighbour', 'add', address, 'lladdr', '02:00:00:00:00:77', 'dev', 'near', 'nud', 'permanent')
  }
}

function startInNetwork(fixture: string, args: readonly string[]): ChildProcess {
  const file = join(REPOSITORY, 'tests/fixtures', fixture)
  return spawn('unshare', ['--net', process.execPath, file, ...args], { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] })
}

function collectLines(child: ChildProcess, lines: string[]): void {
  child.stdout?.setEncoding('utf8')
  let rest = ''
  child.stdout?.on('data', (text: string) => {
    const parts = (rest + text).split('\n')
    rest = parts.pop() ?? ''
    lines.push(...parts)
  })
}
