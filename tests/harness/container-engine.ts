import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { installPackages } from './debian-packages.ts'
import { eventually } from './processes.ts'

/** Whether a Docker engine can run here, and Compose if it is asked for. Installs them if it may. */
export function canRunDocker(compose: 'with compose' | 'alone' = 'alone'): boolean {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return miss('this needs root on Linux')
  const programs = ['dockerd', 'docker', ...(compose === 'alone' ? [] : ['docker-compose'])]
  const packages = ['docker.io', 'socat', ...(compose === 'alone' ? [] : ['docker-compose'])]
  const isInstalled = (): boolean =>
    programs.every((name) => spawnSync(name, ['--version'], { stdio: 'ignore' }).status === 0)
  if (!isInstalled()) installPackages(packages)
  return isInstalled() || miss(`install ${packages.join(', ')}`)
}

function miss(what: string): boolean {
  // Root on Linux could run it, so there nothing may be left out.
  if (process.env.CI && process.getuid?.() === 0) throw new Error(`A Docker engine cannot be started: ${what}.`)
  console.warn(`Containers are not tested: ${what}.`)
  return false
}

export interface DockerEngine {
  /** For programs that use it. */
  readonly env: { readonly DOCKER_HOST: string }
  /** Runs `docker`, and returns what it printed. Throws if it fails. */
  docker(...args: readonly string[]): string
  /** All containers, or those with a label. */
  containers(label?: string): readonly string[]
  /** Creates an image with the Node that runs the tests, further programs, their libraries, and no other file. */
  importNode(name: string, options?: ImportOptions): void
  close(): Promise<void>
}

export interface ImportOptions {
  /** Settings of the image, such as `USER 1000`. */
  readonly changes?: readonly string[]
  /** Absolute paths. */
  readonly programs?: readonly string[]
}

/** Without bridges, since those would be in the network of this machine. */
const NO_NETWORKS = [
  ...['--bridge=none', '--iptables=false', '--ip6tables=false', '--ip-forward=false', '--ip-masq=false'],
  '--userland-proxy=false',
]

/** An engine of its own, which changes nothing in the network of this machine. With `enter`, it has networks in another. */
export async function startDocker(enter: readonly string[] = []): Promise<DockerEngine> {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-docker-'))
  const host = `unix://${folder}/docker.sock`
  const [program = '', ...args] = [
    ...[...enter, 'dockerd', '--data-root', join(folder, 'data'), '--exec-root', join(folder, 'exec')],
    ...['--pidfile', join(folder, 'pid'), '--host', host, ...(enter.length === 0 ? NO_NETWORKS : [])],
  ]
  const daemon = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const log = createWriteStream(join(folder, 'log'))
  for (const output of [daemon.stdout, daemon.stderr]) output.pipe(log)
  const env = { DOCKER_HOST: host }
  const run = (args: readonly string[], input?: Buffer) =>
    spawnSync('docker', args, { env: { ...process.env, ...env }, maxBuffer: 1 << 26, ...(input && { input }) })
  const docker = (...args: readonly string[]): string => {
    const { status, stdout, stderr } = run(args)
    if (status !== 0) throw new Error(`docker ${args.join(' ')}: ${stderr}`)
    return stdout.toString().trim()
  }
  await eventually(
    () => daemon.exitCode !== null || run(['version']).status === 0,
    (isOver) => isOver,
  )
  if (daemon.exitCode !== null) throw new Error(`dockerd ended with ${daemon.exitCode}: see ${folder}/log`)
  return {
    env,
    docker,
    containers: (label) =>
      docker('ps', '-aq', ...(label === undefined ? [] : ['--filter', `label=${label}`]))
        .split('\n')
        .filter((line) => line !== ''),
    importNode: (name, { changes = [], programs = [] } = {}) => {
      const { status, stderr } = run(
        ['import', ...changes.flatMap((change) => ['--change', change]), '-', name],
        packNode(programs),
      )
      if (status !== 0) throw new Error(`docker import: ${stderr}`)
    },
    close: () => stop(daemon, folder),
  }
}

async function stop(daemon: ChildProcess, folder: string): Promise<void> {
  const exited = once(daemon, 'exit')
  daemon.kill('SIGTERM')
  if (daemon.exitCode === null && daemon.signalCode === null) await exited
  // It leaves a network namespace mounted.
  for (const point of listMounts(folder)) spawnSync('umount', ['--lazy', point])
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}

const listMounts = (folder: string): readonly string[] =>
  readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '')
    .filter((point) => point.startsWith(`${folder}/`))

/** An archive with `/bin/node`, the programs at their own paths, and their libraries where the linker finds them. */
function packNode(programs: readonly string[]): Buffer {
  const all = [process.execPath, ...programs]
  const linked = spawnSync('ldd', all, { encoding: 'utf8' }).stdout
  const libraries = new Set([...linked.matchAll(/(\/\S+) \(0x/g)].map(([, path = '']) => path))
  const rename = `s|^${process.execPath.slice(1)}$|bin/node|`
  const paths = [...all, ...libraries].map((path) => path.slice(1))
  const { status, stdout, stderr } = spawnSync('tar', ['-C', '/', '-ch', '--transform', rename, ...paths], {
    maxBuffer: 1 << 30,
  })
  if (status !== 0) throw new Error(`tar: ${stderr}`)
  return stdout
}
