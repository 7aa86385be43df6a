import { existsSync, lstatSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ExpectedMount, identityOf } from './attestation.ts'
import type { SandboxParts, SandboxSpec } from './driver.ts'

/** The user inside: the one outside, and for root an ordinary one, since programs behave differently for root. */
export interface SandboxUser {
  readonly uid: number
  readonly gid: number
}

export interface BubblewrapArguments {
  readonly args: readonly string[]
  readonly mounts: readonly ExpectedMount[]
}

export interface BubblewrapOptions {
  readonly spec: SandboxSpec
  readonly parts: SandboxParts
  readonly user: SandboxUser
  /** Files of ours that the bridge needs. */
  readonly tools: readonly { readonly host: string; readonly guest: string }[]
}

/** Where the parts that we bring along are inside. */
export const OWN_FOLDER = '/run/sallyport'
export const EGRESS_SOCKET = `${OWN_FOLDER}/egress.sock`
export const HOME = '/tmp/home'
export const WORKSPACE = '/workspace'

/** Part of every sandbox, as far as this machine has them. */
export const SYSTEM_FOLDERS = [
  '/usr',
  '/bin',
  '/sbin',
  '/lib',
  '/lib32',
  '/lib64',
  '/libx32',
  '/nix/store',
  '/gnu/store',
]

/** What programs need of /etc: nothing in these is secret. */
export const SYSTEM_SETTINGS = [
  ...[
    'ld.so.cache',
    'ld.so.conf',
    'ld.so.conf.d',
    'alternatives',
    'nsswitch.conf',
    'gai.conf',
    'localtime',
    'timezone',
  ],
  ...['ssl/certs', 'ssl/openssl.cnf', 'ca-certificates', 'pki/tls/certs', 'pki/ca-trust/extracted', 'crypto-policies'],
  ...['os-release', 'debian_version', 'protocols', 'services', 'mime.types', 'magic', 'fonts', 'java', 'python3'],
].map((name) => `/etc/${name}`)

/** Parts of /proc that are the machine's and not the sandbox's: root's own user id is enough to write to some. */
const SHARED_PROC = ['sys', 'sysrq-trigger', 'irq', 'bus', 'fs', 'acpi', 'scsi', 'mtrr', 'pressure'].map(
  (name) => `/proc/${name}`,
)
/** What the kernel tells root about the memory, the timers and the keys of the whole machine. */
const MASKED_PROC = [
  ...['keys', 'key-users', 'timer_list', 'slabinfo', 'vmallocinfo', 'pagetypeinfo', 'kallsyms', 'kcore'],
  ...['kpagecount', 'kpageflags', 'kpagecgroup', 'sched_debug', 'latency_stats'],
].map((name) => `/proc/${name}`)
const DEVICES = ['null', 'zero', 'full', 'random', 'urandom', 'tty', 'pts'].map((name) => `/dev/${name}`)

export const SHARED_MEMORY_BYTES = 256 * 1024 * 1024

/** The options of bubblewrap for a sandbox, and the mounts that these must lead to. */
export function buildArguments(options: BubblewrapOptions): BubblewrapArguments {
  const { spec, parts, user, tools } = options
  const files = [
    ...writeUserFiles(parts.folder, user, spec.hasHostNetwork ? readNameFiles() : OWN_NAMES),
    ...tools,
    ...(spec.hasHostNetwork ? [] : [{ host: parts.egressSocket, guest: EGRESS_SOCKET }]),
  ].map((file) => ({ ...file, access: 'read' as const }))
  const system = [...SYSTEM_FOLDERS, ...SYSTEM_SETTINGS].filter((path) => existsSync(path))
  const isLink = (path: string): boolean => lstatSync(path).isSymbolicLink()
  const folders = system.filter((path) => !isLink(path))
  const mounts = [...spec.mounts, ...files].toSorted((a, b) => depthOf(a.guest) - depthOf(b.guest))
  const shared = SHARED_PROC.filter((path) => existsSync(path))
  const masked = MASKED_PROC.filter((path) => existsSync(path))
  const args = [
    ...['--unshare-user', '--disable-userns', '--unshare-pid', '--unshare-ipc', '--unshare-uts'],
    ...(spec.hasHostNetwork ? [] : ['--unshare-net']),
    ...['--unshare-cgroup-try', '--hostname', 'sandbox', '--uid', `${user.uid}`, '--gid', `${user.gid}`],
    ...['--die-with-parent', '--new-session', '--cap-drop', 'ALL'],
    ...folders.flatMap((path) => ['--ro-bind', path, path]),
    ...system.filter(isLink).flatMap((path) => ['--symlink', readlinkSync(path), path]),
    ...['--proc', '/proc', ...shared.flatMap((path) => ['--ro-bind', path, path])],
    ...masked.flatMap((path) => ['--ro-bind', '/dev/null', path]),
    ...['--dev', '/dev', ...temporary('/dev/shm', SHARED_MEMORY_BYTES), '--remount-ro', '/dev'],
    ...['--perms', '1777', ...temporary('/tmp', spec.limits.temporaryFiles)],
    ...['--perms', '0700', '--dir', HOME],
    ...(hasWorkspace(spec) ? [] : temporary(WORKSPACE, spec.limits.temporaryFiles)),
    ...mounts.flatMap(({ host, guest, access }) => [access === 'write' ? '--bind' : '--ro-bind', host, guest]),
    ...spec.hidden.flatMap((path) => ['--tmpfs', path, '--remount-ro', path]),
    ...['--dir', spec.cwd, '--chdir', spec.cwd, '--remount-ro', '/'],
  ]
  return { args, mounts: [...ownMounts({ spec, folders, shared: [...shared, ...masked] }), ...mounts.map(expectMount)] }
}

const depthOf = (path: string): number => path.split('/').length

const temporary = (path: string, bytes: number): readonly string[] => ['--size', `${bytes}`, '--tmpfs', path]

const hasWorkspace = ({ mounts }: SandboxSpec): boolean => mounts.some(({ guest }) => guest === WORKSPACE)

interface OwnMounts {
  readonly spec: SandboxSpec
  readonly folders: readonly string[]
  /** Parts of /proc. */
  readonly shared: readonly string[]
}

/** Everything that is mounted without a wish of the caller. */
function ownMounts({ spec, folders, shared }: OwnMounts): readonly ExpectedMount[] {
  const writable = ['/proc', '/dev/shm', '/tmp', ...DEVICES, ...(hasWorkspace(spec) ? [] : [WORKSPACE])]
  return [
    ...['/', '/dev', ...folders, ...shared, ...spec.hidden].map((point) => ({ point, access: 'read' as const })),
    ...writable.map((point) => ({ point, access: 'write' as const })),
    // Only if stdout is a terminal.
    { point: '/dev/console', access: 'write', isOptional: true },
  ]
}

function expectMount({ host, guest, access }: SandboxSpec['mounts'][number]): ExpectedMount {
  return { point: guest, access, file: identityOf(host) }
}

const OWN_NAMES = { hosts: '127.0.0.1 localhost sandbox\n::1 localhost sandbox\n' }

/** How this machine finds hosts, for a program that has its network. */
function readNameFiles(): Readonly<Record<string, string>> {
  const names = ['hosts', 'resolv.conf'].filter((name) => existsSync(`/etc/${name}`))
  return Object.fromEntries(names.map((name) => [name, readFileSync(`/etc/${name}`, 'utf8')]))
}

/** Programs look up their own user, and `localhost`. The files of the machine name all of its users. */
export function writeUserFiles(
  folder: string,
  { uid, gid }: SandboxUser,
  names: Readonly<Record<string, string>> = OWN_NAMES,
) {
  const files = { passwd: `user:x:${uid}:${gid}::${HOME}:/bin/sh\n`, group: `user:x:${gid}:\n`, ...names }
  return Object.entries(files).map(([name, content]) => {
    const host = join(folder, name)
    writeFileSync(host, content, { mode: 0o644, flag: 'wx' })
    return { host, guest: `/etc/${name}` }
  })
}
