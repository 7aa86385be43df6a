import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import type { Duplex } from 'node:stream'
import { SallyportError } from '@sallyport/core'
import { findInPath } from '../files/find-in-path.ts'
import { type Admission, admitProgram } from './admit.ts'
import { BRIDGE_PORT, type Bridge, chooseBridge, NODE_PROXY } from './bridge.ts'
import { buildArguments, HOME, type SandboxUser } from './bubblewrap-arguments.ts'
import { explainProbe, NOT_INSTALLED, NOT_LINUX } from './bubblewrap-problems.ts'
import { openCgroup } from './cgroup.ts'
import type { PreparedSandbox, ProbeResult, SandboxDriver, SandboxLimits, SandboxParts, SandboxSpec } from './driver.ts'
import { coverInherited } from './inherited-descriptors.ts'
import { buildSyscallFilter } from './syscall-filter.ts'

/** The descriptors of a sandbox besides stdin, stdout and stderr. */
const PIPES = { options: 3, info: 4, gate: 5, filter: 6 } as const
const PROBE_TIMEOUT_MS = 30_000
const FILTER = buildSyscallFilter()
/** It can connect to no other sandbox: whoever has the network of this machine could pass on a connection. */
const FILTER_OF_HOST_NETWORK = buildSyscallFilter({ refusesUnixSockets: true })
/** How bubblewrap exits if its program was killed: 128 + SIGKILL. */
const KILLED = 137

export interface BubblewrapOptions {
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly platform?: NodeJS.Platform
}

/** Isolates programs with bubblewrap: by namespaces of the kernel, which need no privileges. */
export function createBubblewrapDriver({ environment, platform = process.platform }: BubblewrapOptions): SandboxDriver {
  let bwrap: string | undefined
  let probing: Promise<ProbeResult> | undefined
  const tryOut = async (): Promise<ProbeResult> => {
    if (platform !== 'linux') return NOT_LINUX
    bwrap = findInPath('bwrap', environment.PATH)
    return bwrap === undefined ? NOT_INSTALLED : probe(bwrap)
  }
  return {
    name: 'bubblewrap',
    probe: () => {
      // What is missing now may be installed later, and an overloaded machine recovers.
      probing ??= tryOut().then((result) => {
        if (!result.ok) probing = undefined
        return result
      })
      return probing
    },
    prepare: async (spec, parts) => {
      if (bwrap !== undefined) return prepare({ bwrap, spec, parts })
      throw new SallyportError('INTERNAL', 'A sandbox was prepared although bubblewrap is not installed.')
    },
  }
}

interface Preparation {
  readonly bwrap: string
  readonly spec: SandboxSpec
  readonly parts: SandboxParts
}

function prepare({ bwrap, spec, parts }: Preparation): PreparedSandbox {
  const { filter, bridge, ports, tools } = spec.hasHostNetwork ? planHostNetwork() : planOwnNetwork(spec)
  const user = chooseUser()
  const { args, mounts } = buildArguments({ spec, parts, user, tools })
  const variables = Object.entries(spec.env).flatMap(([name, value]) => ['--setenv', name, value])
  const maps = {
    userMap: `${user.uid} ${process.getuid?.()} 1`,
    groupMap: `${user.gid} ${process.getgid?.()} 1`,
  }
  const admission: Admission = {
    options: [...args, ...variables, ...filterOptions(PIPES.filter)],
    filter,
    expected: {
      ...{ mounts, user: maps, gate: PIPES.gate, isFiltered: filter !== undefined },
      hasHostNetwork: spec.hasHostNetwork ?? false,
    },
    pipes: PIPES,
    ports,
  }
  const cgroup = openCgroup(basename(parts.folder), spec.limits)
  let isTooLarge = false
  const script = launchScript(bridge, limitCommands(spec.limits))
  return {
    command: bwrap,
    args: [
      ...['--args', `${PIPES.options}`, '--info-fd', `${PIPES.info}`],
      ...['--', '/bin/sh', '-c', script, 'sallyport', spec.program, ...spec.args],
    ],
    env: {},
    descriptors: coverInherited(['pipe', 'pipe', 'pipe', 'pipe']),
    admit: (child) => {
      child.once('exit', (code, signal) => {
        isTooLarge = (signal === 'SIGKILL' || code === KILLED) && (cgroup?.killed ?? 0) > 0
      })
      // bubblewrap waits for its options, so it has started nothing yet.
      if (child.pid !== undefined) cgroup?.add(child.pid)
      return admitProgram(child, admission)
    },
    explainEnd: () => (isTooLarge ? describeKill(spec.limits) : undefined),
    // All processes end with the command.
    close: async () => cgroup?.remove(),
  }
}

/** How programs inside find a network, and what of their system calls is refused. */
interface NetworkPlan {
  readonly filter: Buffer | undefined
  readonly bridge: Pick<Bridge, 'commands'>
  /** Where the bridge listens. */
  readonly ports: readonly number[]
  readonly tools: Bridge['tools']
}

function planOwnNetwork({ forwards = [] }: SandboxSpec): NetworkPlan {
  const bridge = chooseBridge(forwards)
  const ports = [BRIDGE_PORT, ...forwards.map(({ listen }) => listen)]
  return { filter: FILTER, bridge, ports, tools: [...bridge.tools, NODE_PROXY] }
}

function planHostNetwork(): NetworkPlan {
  if (FILTER_OF_HOST_NETWORK !== undefined)
    return { filter: FILTER_OF_HOST_NETWORK, bridge: { commands: [] }, ports: [], tools: [] }
  throw new SallyportError(
    'SANDBOX_UNAVAILABLE',
    `"network: host" does not work on this processor (${process.arch}).`,
    {
      hint: 'It needs a filter of system calls, which there is for x64 and arm64. Remove the key: then the server reaches public addresses through the egress proxy.',
    },
  )
}

const filterOptions = (pipe: number): readonly string[] => (FILTER === undefined ? [] : ['--seccomp', `${pipe}`])

const describeKill = ({ memory }: SandboxLimits): string =>
  `was killed: it needed more memory than its limit of ${Math.floor(memory / 1024 ** 2)} MiB (sandbox.limits.memory)`

/** Root becomes an ordinary user inside: programs behave differently for root, and some refuse to run. */
function chooseUser(): SandboxUser {
  const [uid = 0, gid = 0] = [process.getuid?.(), process.getgid?.()]
  return uid === 0 ? { uid: 1000, gid: 1000 } : { uid, gid }
}

/**
 * Starts the bridge, waits for the word that the sandbox is as it should be, and becomes the program. The bridge is in
 * a subshell, so that the program gets no child that it does not know.
 */
function launchScript({ commands }: Pick<Bridge, 'commands'>, limits: readonly string[]): string {
  const { gate } = PIPES
  return [
    ...commands.map((command) => `( ${command} </dev/null >/dev/null 2>&1 ${gate}<&- & )`),
    `read -r word <&${gate} || exit 125`,
    `exec ${gate}<&-`,
    ...limits,
    'exec "$@"',
  ].join('\n')
}

/**
 * Limits of each process, by the shell that becomes the program. Where it is bash, -u is the number of processes;
 * others call it -p.
 */
function limitCommands({ processes, memory }: SandboxLimits): readonly string[] {
  const kilobytes = Math.floor(Math.min(memory, readHardLimit('Max data size')) / 1024)
  const count = Math.min(processes, readHardLimit('Max processes'))
  return [
    'ulimit -c 0',
    `ulimit -d ${kilobytes}`,
    `if (ulimit -u ${count}) 2>/dev/null; then ulimit -u ${count}; else ulimit -p ${count}; fi`,
  ]
}

/** Nobody without privileges can get above it. */
function readHardLimit(name: string): number {
  const line = readFileSync('/proc/self/limits', 'utf8')
    .split('\n')
    .find((entry) => entry.startsWith(`${name} `))
  const hard = line?.slice(name.length).trim().split(/\s+/)[1]
  return hard === undefined || hard === 'unlimited' ? Number.POSITIVE_INFINITY : Number(hard)
}

/** Creates a real sandbox, with everything that the others have, for a program that does nothing. */
async function probe(bwrap: string): Promise<ProbeResult> {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-probe-'))
  try {
    const egressSocket = join(folder, 'egress.sock')
    writeFileSync(egressSocket, '')
    const spec = { ...PROBE_SPEC, program: '/bin/true' }
    const { args } = buildArguments({
      spec,
      parts: { server: 'probe', egressSocket, folder },
      user: chooseUser(),
      tools: [],
    })
    const { code, stderr } = await runProbe(bwrap, args)
    return code === 0 ? { ok: true } : explainProbe(stderr, code)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const PROBE_SPEC = {
  args: [],
  env: {},
  cwd: HOME,
  mounts: [],
  hidden: [],
  limits: { processes: 16, memory: 1 << 28, temporaryFiles: 1 << 20 },
}

/** The descriptor after that of the options. */
const PROBE_FILTER = PIPES.options + 1

async function runProbe(bwrap: string, options: readonly string[]) {
  const child = spawn(bwrap, ['--args', `${PIPES.options}`, '--', '/bin/true'], {
    stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'],
    env: {},
    timeout: PROBE_TIMEOUT_MS,
    killSignal: 'SIGKILL',
  })
  const errors = child.stderr
  let stderr = ''
  errors?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  const [input, filter] = [PIPES.options, PROBE_FILTER].map((number) => child.stdio[number] as Duplex)
  for (const pipe of [input, filter]) pipe?.on('error', () => {})
  input?.end([...options, ...filterOptions(PROBE_FILTER)].map((option) => `${option}\0`).join(''))
  filter?.end(FILTER)
  try {
    const [code] = (await once(child, 'close')) as [number | null]
    return { code, stderr }
  } catch (error) {
    return { code: null, stderr: (error as Error).message }
  }
}
