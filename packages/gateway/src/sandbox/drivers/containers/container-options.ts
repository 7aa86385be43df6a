import { chmodSync, existsSync, lstatSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SallyportError } from '@sallyport/core'
import { type ExpectedMount, identityOf } from '../attestation.ts'
import { chooseBridge, NODE_PROXY } from '../bridge.ts'
import {
  EGRESS_SOCKET,
  HOME,
  SHARED_MEMORY_BYTES,
  SYSTEM_FOLDERS,
  SYSTEM_SETTINGS,
  WORKSPACE,
  writeUserFiles,
} from '../bubblewrap-arguments.ts'
import type { Forward, ImageSpec, Mount, SandboxLimits, SandboxParts, SandboxSpec } from '../driver.ts'
import type { EngineKind } from './engine.ts'
import { buildSeccompProfile } from './seccomp-profile.ts'

/** What `docker create` gets for a container, and what must come of it. */
export interface ContainerPlan {
  readonly args: readonly string[]
  /** Variables for the engine's program: some values cannot be in a file. */
  readonly variables: Readonly<Record<string, string>>
  readonly mounts: readonly ExpectedMount[]
  readonly wanted: WantedSettings
}

/** What the engine itself must say about the container. */
export interface WantedSettings {
  readonly network: string
  readonly processes: number
  readonly memory: number
  readonly mounts: readonly Mount[]
  /** The file with the filter of system calls. */
  readonly filter: string | undefined
}

/** What an image says about itself. */
export interface ImageSettings {
  readonly user: string
  readonly volumes: readonly string[]
}

export interface PlanContext {
  readonly kind: EngineKind
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly baseImage: string
  /** `none`, or `container:<id>`. */
  readonly network: string
  /** Whether the engine can start a first process of its own, which passes signals on and reaps children. */
  readonly hasInit: boolean
}

const BRIDGE_LIMITS: SandboxLimits = { processes: 512, memory: 512 * 1024 ** 2, temporaryFiles: 1024 ** 2 }

/** What the container of our bridge needs. */
export interface BridgeParts extends Pick<SandboxParts, 'egressSocket'> {
  readonly forwards?: readonly Forward[] | undefined
}

/** The container that has the network, in which only our bridge runs: from a port to the socket of the egress proxy. */
export function planBridge(context: PlanContext, { egressSocket, forwards = [] }: BridgeParts): ContainerPlan {
  const bridge = chooseBridge(forwards)
  // The folder around it is private; the user in the container is another one.
  chmodSync(egressSocket, 0o666)
  const files = [...bridge.tools, { host: egressSocket, guest: EGRESS_SOCKET }].map(toReadMount)
  return buildPlan(context, {
    image: context.baseImage,
    words: ['/bin/sh', '-c', `${bridge.commands.map((command) => `${command} & `).join('')}wait`],
    folder: '/',
    user: chooseUser(''),
    mounts: [...showSystem(SYSTEM_FOLDERS), ...files],
    hidden: [],
    temporary: [],
    limits: BRIDGE_LIMITS,
  })
}

/** Waits for a line before it becomes the program, so that nothing of it runs before the container was checked. */
const GATE = 'read -r word || exit 125; exec "$@"'

/** A program of this machine: it sees the folders that it needs, as in any other sandbox. */
export function planProgramContainer(context: PlanContext, spec: SandboxSpec, parts: SandboxParts): ContainerPlan {
  const user = chooseUser('')
  const [uid = 0, gid = 0] = user.split(':').map(Number)
  const files = [...writeUserFiles(parts.folder, { uid, gid }), NODE_PROXY].map(toReadMount)
  const system = showSystem([...SYSTEM_FOLDERS, ...SYSTEM_SETTINGS])
  const plan = buildPlan(context, {
    image: context.baseImage,
    filter: writeFilter(parts.folder),
    words: ['/bin/sh', '-c', GATE, 'sallyport', spec.program, ...spec.args],
    folder: spec.cwd,
    user,
    mounts: [...system, ...spec.mounts, ...files],
    hidden: spec.hidden,
    temporary: [HOME, WORKSPACE],
    limits: spec.limits,
  })
  return withEnvironment(plan, spec.env, parts.folder)
}

/** A program of an image: it sees the files of the image. */
export function planImageContainer(
  context: PlanContext,
  spec: ImageSpec,
  { folder, image }: SandboxParts & { readonly image: ImageSettings },
): ContainerPlan {
  const plan = buildPlan(context, {
    image: spec.image,
    filter: writeFilter(folder),
    words: [spec.entrypoint, ...spec.args],
    folder: spec.cwd,
    user: chooseUser(image.user),
    mounts: [...spec.mounts, toReadMount(NODE_PROXY)],
    hidden: spec.hidden,
    // Volumes would be files of the engine that outlive the container.
    temporary: [HOME, WORKSPACE, ...image.volumes],
    limits: spec.limits,
  })
  return withEnvironment(plan, spec.env, folder)
}

function writeFilter(folder: string): string {
  const file = join(folder, 'seccomp.json')
  writeFileSync(file, buildSeccompProfile(), { mode: 0o600, flag: 'wx' })
  return file
}

interface ContainerContent {
  readonly image: string
  /** The file with the filter of system calls. Without it: that of the engine. */
  readonly filter?: string
  /** The first one replaces the program of the image; `undefined`: it stays. */
  readonly words: readonly (string | undefined)[]
  readonly folder: string | undefined
  /** `undefined`: that of the image. */
  readonly user: string | undefined
  readonly mounts: readonly Mount[]
  readonly hidden: readonly string[]
  /** Folders in memory, besides /tmp. */
  readonly temporary: readonly string[]
  readonly limits: SandboxLimits
}

function buildPlan(context: PlanContext, content: ContainerContent): ContainerPlan {
  const { kind, network, hasInit } = context
  const { image, filter, words, folder, user, mounts, hidden, limits } = content
  const [entrypoint, ...rest] = words
  const isMounted = (path: string): boolean => mounts.some(({ guest }) => guest === path)
  const temporary = ['/tmp', ...new Set(content.temporary)].filter((path) => !isMounted(path))
  const inMemory = [`size=${limits.temporaryFiles}`, 'rw,exec,nosuid,nodev,mode=1777', ...kind.temporaryOptions]
  const wanted = { network, processes: limits.processes, memory: limits.memory, mounts, filter }
  const args = [
    ...['create', '-i', '--rm', '--pull', 'never', '--name', context.name],
    ...Object.entries(context.labels).flatMap(([label, value]) => ['--label', `${label}=${value}`]),
    ...['--network', network, '--ipc', 'private', '--read-only', ...kind.createOptions],
    ...(filter === undefined ? [] : ['--security-opt', `seccomp=${filter}`]),
    ...['--cap-drop', 'ALL', '--security-opt', 'no-new-privileges', ...(user === undefined ? [] : ['--user', user])],
    ...['--pids-limit', `${limits.processes}`, '--memory', `${limits.memory}`, '--memory-swap', `${limits.memory}`],
    ...['--shm-size', `${SHARED_MEMORY_BYTES}`],
    // What it writes is for whoever called, not for a file of the engine.
    ...['--log-driver', 'none', '--no-healthcheck', ...(hasInit ? ['--init'] : [])],
    ...temporary.flatMap((path) => ['--tmpfs', `${requirePlain(path)}:${inMemory.join(',')}`]),
    ...hidden.flatMap((path) => ['--tmpfs', `${requirePlain(path)}:ro,size=4096,mode=0555`]),
    ...mounts.flatMap((mount) => ['--mount', formatMount(mount)]),
    ...(folder === undefined ? [] : ['--workdir', folder]),
    ...(entrypoint === undefined ? [] : ['--entrypoint', entrypoint]),
    ...[image, ...rest.filter((word) => word !== undefined)],
  ]
  const memoryMounts = [
    ...temporary.map((point): ExpectedMount => ({ point, access: 'write' })),
    ...hidden.map((point): ExpectedMount => ({ point, access: 'read' })),
  ]
  return { args, variables: {}, wanted, mounts: [...ENGINE_MOUNTS, ...memoryMounts, ...mounts.map(expectMount)] }
}

const own = (point: string, access: ExpectedMount['access'], isOptional = false): ExpectedMount => ({
  ...{ point, access, isOptional },
})

/** What every engine mounts. An ordinary user without capabilities can write to none of it but `/dev/shm`. */
const ENGINE_MOUNTS: readonly ExpectedMount[] = [
  ...['/', '/sys', '/proc/sys'].map((point) => own(point, 'read')),
  ...['/proc', '/dev'].map((point) => own(point, 'write')),
  own('/sys/fs/cgroup', 'write', true),
  ...['/etc/resolv.conf', '/etc/hostname', '/etc/hosts', '/etc/mtab', '/etc/passwd', '/etc/group'].map((point) =>
    own(point, 'read', true),
  ),
  ...['/sbin/docker-init', '/run/podman-init', '/run/.containerenv', '/run/secrets'].map((point) =>
    own(point, 'read', true),
  ),
]

const expectMount = ({ host, guest, access }: Mount): ExpectedMount => ({
  ...{ point: guest, access, file: identityOf(host) },
})

const toReadMount = ({ host, guest }: Pick<Mount, 'host' | 'guest'>): Mount => ({ host, guest, access: 'read' })

const showSystem = (paths: readonly string[]): readonly Mount[] =>
  paths
    .filter((path) => existsSync(path) && !lstatSync(path).isSymbolicLink())
    .map((path) => toReadMount({ host: path, guest: path }))

/** Fields of a line of comma-separated values. */
function formatMount({ host, guest, access }: Mount): string {
  const fields = ['type=bind', `source=${host}`, `target=${guest}`, ...(access === 'read' ? ['readonly'] : [])]
  return fields.map((field) => (/[",\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field)).join(',')
}

function requirePlain(path: string): string {
  if (!/[:,]/.test(path)) return path
  throw new SallyportError('USAGE', `The path ${path} cannot be used in a container: it contains a colon or a comma.`)
}

/**
 * `uid:gid`: never root, since programs of many images would run as root. An ordinary user runs everything with its own
 * number: only then the kernel lets it check the container, and can it remove what that writes. `undefined`: the image
 * names another one, and root checks it.
 */
function chooseUser<Image extends string>(image: Image): Image extends '' ? string : string | undefined
function chooseUser(image: string): string | undefined {
  const [uid = 0, gid = 0] = [process.getuid?.(), process.getgid?.()]
  if (uid !== 0) return `${uid}:${gid}`
  const [name = ''] = image.split(':')
  return name === '' || name === 'root' || /^0+$/.test(name) ? '1000:1000' : undefined
}

/** Variables that the engine's program would use itself. */
const USED_BY_ENGINES = /^(?:PATH|HOME|TMPDIR|LD_.*|XDG_.*|DOCKER_.*|CONTAINER.*|STORAGE_.*|GO[A-Z]+|.*_PROXY)$/i

/** Values are in a file that only this user can read: other users can read command lines. */
function withEnvironment(plan: ContainerPlan, env: Readonly<Record<string, string>>, folder: string): ContainerPlan {
  const file = join(folder, 'environment')
  const [inFile, passed]: [string[], string[]] = [[], []]
  for (const name of Object.keys(env)) (/[\r\n]/.test(env[name] ?? '') ? passed : inFile).push(name)
  const problem = passed.find((name) => USED_BY_ENGINES.test(name)) ?? inFile.find((name) => /^\s*#|\s/.test(name))
  if (problem !== undefined)
    throw new SallyportError('USAGE', `The variable ${problem} cannot be given to a container.`, {
      hint: 'Its name contains spaces, or its value several lines. Write the value into a file, and add that to mounts.',
    })
  writeFileSync(file, inFile.map((name) => `${name}=${env[name]}\n`).join(''), { mode: 0o600, flag: 'wx' })
  const [create = '', ...rest] = plan.args
  const options = ['--env-file', file, ...passed.flatMap((name) => ['--env', name])]
  const variables = Object.fromEntries(passed.map((name) => [name, env[name] ?? '']))
  return { ...plan, args: [create, ...options, ...rest], variables }
}
