/**
 * A filter of system calls, in the byte code that the kernel runs for each call of a process (`seccomp`, classic BPF).
 * It refuses what no ordinary program needs and where bugs of the kernel are found, and sockets of families that the
 * namespace of the network does not hold. `undefined`: the numbers of this architecture are not known here.
 */
export function buildSyscallFilter({
  architecture = process.arch,
  refusesUnixSockets = false,
}: FilterOptions = {}): Buffer | undefined {
  const system = SYSTEMS[architecture]
  return system && encode(writeProgram(system, refusesUnixSockets))
}

export interface FilterOptions {
  readonly architecture?: string
  /** All but pairs of connected ones, with which a program speaks to those that it starts. */
  readonly refusesUnixSockets?: boolean
}

interface System {
  /** AUDIT_ARCH_…: how the kernel names this kind of system call. */
  readonly audit: number
  /** From this number on calls are those of another kind, x32, under the same name. */
  readonly foreignFrom?: number
  readonly refused: readonly number[]
  readonly missing: readonly number[]
  readonly clone: number
  readonly socket: number
  readonly socketpair: number
  readonly ioctl: number
}

/** The same on all architectures: include/uapi/asm-generic/unistd.h from 424 on. */
const MOUNT_CALLS = { open_tree: 428, move_mount: 429, fsopen: 430, fsconfig: 431, fsmount: 432, fspick: 433 }
const NEW_CALLS = { ...MOUNT_CALLS, pidfd_getfd: 438, mount_setattr: 442 }
/** A socket that io_uring creates passes no filter, and the flags of clone3 cannot be seen; programs do without both. */
const UNSEEN_CALLS = { io_uring_setup: 425, io_uring_enter: 426, io_uring_register: 427, clone3: 435 }

const X64_CALLS = {
  ...{ ptrace: 101, process_vm_readv: 310, process_vm_writev: 311, kcmp: 312 },
  ...{ add_key: 248, request_key: 249, keyctl: 250, bpf: 321, perf_event_open: 298, userfaultfd: 323 },
  ...{ unshare: 272, setns: 308, mount: 165, umount2: 166, pivot_root: 155, open_by_handle_at: 304 },
  ...{ kexec_load: 246, kexec_file_load: 320, init_module: 175, finit_module: 313, delete_module: 176 },
  ...{ reboot: 169, swapon: 167, swapoff: 168, acct: 163, syslog: 103, modify_ldt: 154 },
}

const ARM64_CALLS = {
  ...{ ptrace: 117, process_vm_readv: 270, process_vm_writev: 271, kcmp: 272 },
  ...{ add_key: 217, request_key: 218, keyctl: 219, bpf: 280, perf_event_open: 241, userfaultfd: 282 },
  ...{ unshare: 97, setns: 268, mount: 40, umount2: 39, pivot_root: 41, open_by_handle_at: 265 },
  ...{ kexec_load: 104, kexec_file_load: 294, init_module: 105, finit_module: 273, delete_module: 106 },
  ...{ reboot: 142, swapon: 224, swapoff: 225, acct: 89, syslog: 116 },
}

/** The same by name, for filters that others write: a name that an architecture does not have is no error. */
export const REFUSED_CALLS: readonly string[] = Object.keys({ ...X64_CALLS, ...NEW_CALLS })
export const MISSING_CALLS: readonly string[] = Object.keys(UNSEEN_CALLS)

const SYSTEMS: Readonly<Record<string, System>> = {
  x64: {
    ...{ audit: 0xc000_003e, foreignFrom: 0x4000_0000 },
    ...{ clone: 56, socket: 41, socketpair: 53, ioctl: 16 },
    refused: Object.values({ ...X64_CALLS, ...NEW_CALLS }),
    missing: Object.values(UNSEEN_CALLS),
  },
  arm64: {
    ...{ audit: 0xc000_00b7, clone: 220, socket: 198, socketpair: 199, ioctl: 29 },
    refused: Object.values({ ...ARM64_CALLS, ...NEW_CALLS }),
    missing: Object.values(UNSEEN_CALLS),
  },
}

export const ERROR = { EPERM: 1, ENOSYS: 38, EAFNOSUPPORT: 97 } as const
export const FAMILY = { unix: 1, inet: 2, inet6: 10, netlink: 16 } as const
/** SOCK_DGRAM and SOCK_RAW have it. One of a pair of these can be connected to any other socket; of other pairs not. */
const DATAGRAM_BIT = 2
/** Addresses and routes, which programs ask for to list the interfaces. */
export const NETLINK_ROUTE = 0
/** CLONE_NEWNS, …CGROUP, …UTS, …IPC, …USER, …PID and …NET. */
export const NAMESPACE_FLAGS = 0x7e02_0000
/** TIOCSTI and TIOCLINUX, which type into a terminal. */
export const TYPING = [0x5412, 0x541c]

interface Instruction {
  readonly code: number
  readonly value: number
  /** How many instructions to skip, if the condition is true and if it is false. */
  readonly ifTrue?: number
  readonly ifFalse?: number
}

/** Where `struct seccomp_data` has the number, the architecture and the lower half of an argument. */
const NUMBER_AT = 0
const ARCHITECTURE_AT = 4
const argumentAt = (index: number): number => 16 + 8 * index

const load = (offset: number): Instruction => ({ code: 0x20, value: offset })
const give = (action: number): Instruction => ({ code: 0x06, value: action })
const ALLOW = give(0x7fff_0000)
const KILL = give(0x8000_0000)
const refuse = (error: number): Instruction => give(0x0005_0000 | error)

type Condition = 'equal' | 'atLeast' | 'anyBit'
const CODES: Readonly<Record<Condition, number>> = { equal: 0x15, atLeast: 0x35, anyBit: 0x45 }

/** Instructions that run only if the condition is true. */
const when = (condition: Condition, value: number, then: readonly Instruction[]): readonly Instruction[] => [
  { code: CODES[condition], value, ifTrue: 0, ifFalse: then.length },
  ...then,
]

function writeProgram(system: System, refusesUnixSockets: boolean): readonly Instruction[] {
  const { audit, foreignFrom, refused, missing, clone, socket, socketpair, ioctl } = system
  const families = refusesUnixSockets ? [FAMILY.inet, FAMILY.inet6] : [FAMILY.unix, FAMILY.inet, FAMILY.inet6]
  const allowIf = (value: number): readonly Instruction[] => when('equal', value, [ALLOW])
  return [
    load(ARCHITECTURE_AT),
    { code: CODES.equal, value: audit, ifTrue: 1, ifFalse: 0 },
    KILL,
    load(NUMBER_AT),
    ...(foreignFrom === undefined ? [] : when('atLeast', foreignFrom, [KILL])),
    ...refused.flatMap((number) => when('equal', number, [refuse(ERROR.EPERM)])),
    ...missing.flatMap((number) => when('equal', number, [refuse(ERROR.ENOSYS)])),
    ...when('equal', clone, [load(argumentAt(0)), ...when('anyBit', NAMESPACE_FLAGS, [refuse(ERROR.EPERM)]), ALLOW]),
    ...when('equal', ioctl, [
      load(argumentAt(1)),
      ...TYPING.flatMap((request) => when('equal', request, [refuse(ERROR.EPERM)])),
      ALLOW,
    ]),
    ...when('equal', socketpair, [
      ...(refusesUnixSockets
        ? [load(argumentAt(1)), ...when('anyBit', DATAGRAM_BIT, [refuse(ERROR.EAFNOSUPPORT)])]
        : []),
      ...[load(argumentAt(0)), ...allowIf(FAMILY.unix), refuse(ERROR.EAFNOSUPPORT)],
    ]),
    ...when('equal', socket, [
      load(argumentAt(0)),
      ...families.flatMap(allowIf),
      ...when('equal', FAMILY.netlink, [load(argumentAt(2)), ...allowIf(NETLINK_ROUTE)]),
      refuse(ERROR.EAFNOSUPPORT),
    ]),
    ALLOW,
  ]
}

const INSTRUCTION_BYTES = 8

/** `struct sock_filter`, as a little-endian machine has it. */
function encode(program: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(program.length * INSTRUCTION_BYTES)
  for (const [index, { code, value, ifTrue = 0, ifFalse = 0 }] of program.entries()) {
    const at = index * INSTRUCTION_BYTES
    bytes.writeUInt16LE(code, at)
    bytes.writeUInt8(ifTrue, at + 2)
    bytes.writeUInt8(ifFalse, at + 3)
    bytes.writeUInt32LE(value, at + 4)
  }
  return bytes
}
