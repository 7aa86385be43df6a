import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { installPackages } from '../harness/debian-packages.ts'
import { eventually } from '../harness/processes.ts'
import type { Outcome } from '../harness/run-command.ts'
import { MAIN, REPOSITORY } from '../harness/run-gateway.ts'

const IS_ROOT = process.getuid?.() === 0
const NOBODY = 65_534

/** Whether sandboxes work here. Installs what they need if it may. */
export function canSandbox(): boolean {
  if (process.platform !== 'linux') return false
  const packages = ['bubblewrap', 'socat', 'iproute2']
  if (!works()) installPackages(packages)
  if (works()) return true
  const message = `Sandboxes cannot be tested here: install ${packages.join(', ')}, and allow user namespaces.`
  if (process.env.CI) throw new Error(message)
  console.warn(message)
  return false
}

/** A second network needs root. */
export const canBuildNetworks = (): boolean => canSandbox() && IS_ROOT

const works = (): boolean =>
  ['socat', 'ip'].every((name) => spawnSync(name, ['-V'], { stdio: 'ignore' }).error === undefined) &&
  spawnSync('bwrap', ['--unshare-all', '--ro-bind', '/', '/', 'true'], { stdio: 'ignore' }).status === 0

/** Who runs the tests' programs: root, if it runs the tests, and an ordinary user. */
export const USERS: readonly User[] = IS_ROOT ? ['root', 'an ordinary user'] : ['an ordinary user']
export type User = 'root' | 'an ordinary user'

/** A folder of the user, in the place of the home folder. */
export function makeUserFolder(user: User): { readonly path: string; remove(): void } {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'sallyport-sandboxed-')))
  if (user !== 'root' && IS_ROOT) chownSync(path, NOBODY, NOBODY)
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}

export interface Start {
  readonly user: User
  /** The home folder, and the working folder. */
  readonly folder: string
  readonly env?: Readonly<Record<string, string>>
  readonly network?: Network | undefined
  /** What runs everything, such as a shell that leaves descriptors open. */
  readonly through?: readonly string[]
  readonly input?: string
  readonly cwd?: string
}

/** Starts a command as a user, in a network. */
export function start(command: readonly string[], options: Start): ChildProcess {
  const { user, folder, env, network, through = [], cwd = folder } = options
  const enter = network === undefined ? [] : network.enter
  const become =
    user !== 'root' && IS_ROOT ? ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'] : []
  const [program = '', ...args] = [...enter, ...become, ...through, ...command]
  const { PATH = '', SALLYPORT_MARK = '' } = process.env
  return spawn(program, args, {
    cwd,
    env: { PATH, SALLYPORT_MARK, HOME: folder, TMPDIR: tmpdir(), ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
}

/** Runs a command to its end. */
export async function run(command: readonly string[], options: Start): Promise<Outcome> {
  const child = start(command, options)
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const)
    child[name]?.setEncoding('utf8').on('data', (text: string) => {
      output[name] += text
    })
  child.stdin?.on('error', () => {})
  child.stdin?.end(options.input ?? '')
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, ...output }
}

export const SALLYPORT = [process.execPath, MAIN]

/** `sallyport run-sandboxed <flags> -- <command>` */
export const sandboxed = (flags: readonly string[], command: readonly string[]): readonly string[] => [
  ...SALLYPORT,
  'run-sandboxed',
  ...flags,
  '--',
  ...command,
]

const PROBE = join(REPOSITORY, 'tests/fixtures/sandbox-probe.mjs')

export const probe = (...words: readonly string[]): readonly string[] => [process.execPath, PROBE, ...words]

/** Two networks that only know each other. */
export interface Network {
  /** The prefix of a command that runs in the first one. */
  readonly enter: readonly string[]
  /** The addresses of the second, and the port at which it listens. */
  readonly v4: string
  readonly v6: string
  readonly port: number
  /** What arrives there meanwhile. Requests before and after show where that begins and ends. */
  arrivals(work: () => Promise<unknown>): Promise<readonly string[]>
  /** Waits until the listener there has printed this line. */
  until(line: string): Promise<unknown>
  close(): Promise<void>
}

const PORT = 8_080
/** Public addresses, since nobody else is in these networks; a private one, and that of the metadata of clouds. */
const NEAR = ['11.0.0.1/24', '2a00:1234::1/64', '10.77.0.1/24', '169.254.0.1/16']
const FAR = ['11.0.0.2/24', '2a00:1234::2/64', '10.77.0.2/24', '169.254.169.254/16']

/** Creates them; the listener in the second one is the oracle of what has left. */
export async function openNetwork(): Promise<Network> {
  const [near, far] = [await openNamespace(), await openNamespace()]
  ip(['link', 'add', 'veth0', 'netns', `${near.pid}`, 'type', 'veth', 'peer', 'name', 'veth0', 'netns', `${far.pid}`])
  for (const [space, addresses] of [
    [near, NEAR],
    [far, FAR],
  ] as const) {
    const inside = enter(space)
    for (const address of addresses)
      ip(['addr', 'add', address, 'dev', 'veth0', ...(address.includes(':') ? ['nodad'] : [])], inside)
    for (const link of ['lo', 'veth0']) ip(['link', 'set', link, 'up'], inside)
  }
  const lines: string[] = []
  const [program = '', ...args] = [
    ...enter(far),
    process.execPath,
    join(REPOSITORY, 'tests/fixtures/internet.mjs'),
    `${PORT}`,
  ]
  const internet = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  internet.stdout.setEncoding('utf8').on('data', (text: string) => lines.push(...text.trim().split('\n')))
  await eventually(
    () => lines,
    (seen) => seen.includes('ready'),
  )
  let marks = 0
  /** The index of the line of a request that is made now. */
  const mark = async (): Promise<number> => {
    const path = `/mark-${marks++}`
    const [program = '', ...args] = [...enter(near), 'curl', '-s', `http://11.0.0.2:${PORT}${path}`]
    const child = spawn(program, args, { stdio: 'ignore' })
    await once(child, 'close')
    const isMark = (line: string): boolean => line.endsWith(path)
    return eventually(
      () => lines.findIndex(isMark),
      (index) => index >= 0,
    )
  }
  return {
    enter: enter(near),
    v4: '11.0.0.2',
    v6: '2a00:1234::2',
    port: PORT,
    arrivals: async (work) => {
      const begin = await mark()
      await work()
      const end = await mark()
      // A request is two lines: its connection, and itself.
      return lines.slice(begin + 1, end - 1)
    },
    until: (line) =>
      eventually(
        () => lines.includes(line),
        (isThere) => isThere,
      ),
    close: async () => {
      for (const child of [internet, near, far]) await end(child)
    },
  }
}

/** A process that keeps a network namespace. */
async function openNamespace(): Promise<ChildProcess> {
  const child = spawn('unshare', ['--net', 'sh', '-c', 'echo ready; exec cat'], { stdio: ['pipe', 'pipe', 'inherit'] })
  await once(child.stdout, 'data')
  return child
}

const enter = ({ pid }: ChildProcess): readonly string[] => ['nsenter', `--net=/proc/${pid}/ns/net`]

function ip(args: readonly string[], inside: readonly string[] = []): void {
  const [program = '', ...rest] = [...inside, 'ip', ...args]
  const { status, stderr } = spawnSync(program, rest, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`ip ${args.join(' ')}: ${stderr}`)
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}
