import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { installPackages } from './debian-packages.ts'
import { eventually } from './processes.ts'

/** Whether a Docker engine can run here. Installs it if it may. */
export function canRunDocker(): boolean {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return miss('this needs root on Linux')
  const isInstalled = (): boolean =>
    ['dockerd', 'docker'].every((name) => spawnSync(name, ['--version'], { stdio: 'ignore' }).status === 0)
  if (!isInstalled()) installPackages(['docker.io', 'socat'])
  return isInstalled() || miss('install docker.io')
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
  /** Creates an image with the Node that runs the tests, the libraries that it needs, and no other file. */
  importNode(name: string, changes?: readonly string[]): void
  close(): Promise<void>
}

/** An engine of its own, which changes nothing in the network of this machine. */
export async function startDocker(): Promise<DockerEngine> {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-docker-'))
  const host = `unix://${folder}/docker.sock`
  const daemon = spawn(
    'dockerd',
    [
      ...['--data-root', join(folder, 'data'), '--exec-root', join(folder, 'exec')],
      ...['--pidfile', join(folder, 'pid'), '--host', host],
      ...['--bridge=none', '--iptables=false', '--ip6tables=false', '--ip-forward=false', '--ip-masq=false'],
      '--userland-proxy=false',
    ],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  )
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
    importNode: (name, changes = []) => {
      const { status, stderr } = run(
        ['import', ...changes.flatMap((change) => ['--change', change]), '-', name],
        packNode(),
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

/** An archive with `/bin/node`, its libraries where the linker finds them, and `/tmp`. */
function packNode(): Buffer {
  const linked = spawnSync('ldd', [process.execPath], { encoding: 'utf8' }).stdout
  const libraries = [...linked.matchAll(/(\/\S+) \(0x/g)].map(([, path = '']) => path.slice(1))
  const rename = `s|^${process.execPath.slice(1)}$|bin/node|`
  const { status, stdout, stderr } = spawnSync(
    'tar',
    ['-C', '/', '-ch', '--transform', rename, process.execPath.slice(1), ...libraries],
    { maxBuffer: 1 << 30 },
  )
  if (status !== 0) throw new Error(`tar: ${stderr}`)
  return stdout
}
