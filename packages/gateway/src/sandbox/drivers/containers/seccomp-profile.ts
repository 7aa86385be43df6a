import {
  ERROR,
  FAMILY,
  MISSING_CALLS,
  NAMESPACE_FLAGS,
  NETLINK_ROUTE,
  REFUSED_CALLS,
  TYPING,
} from '../syscall-filter.ts'

interface Argument {
  readonly index: number
  readonly op: string
  readonly value: number
  readonly valueTwo?: number
}

interface Rule {
  readonly names: readonly string[]
  readonly action: 'SCMP_ACT_ERRNO'
  readonly errnoRet: number
  readonly args?: readonly Argument[]
}

/** What engines refuse by themselves, besides what our filter refuses: it replaces theirs. */
const REFUSED_BY_ENGINES = [
  ...[
    '_sysctl',
    'clock_adjtime',
    'clock_settime',
    'create_module',
    'fanotify_init',
    'get_kernel_syms',
    'get_mempolicy',
  ],
  ...['ioperm', 'iopl', 'lookup_dcookie', 'mbind', 'move_pages', 'nfsservctl', 'query_module', 'quotactl'],
  ...['quotactl_fd', 'set_mempolicy', 'set_mempolicy_home_node', 'settimeofday', 'stime', 'sysfs', 'umount', 'uselib'],
  ...['ustat', 'vhangup', 'vm86', 'vm86old'],
]

const refuse = (names: readonly string[], errnoRet: number, args?: readonly Argument[]): Rule => ({
  ...{ names, action: 'SCMP_ACT_ERRNO', errnoRet },
  ...(args && { args }),
})

/** Only the lower half counts for the kernel, so only that is compared. */
const equals = (index: number, value: number, mask = 0xffff_ffff): Argument => ({
  ...{ index, op: 'SCMP_CMP_MASKED_EQ', value: mask, valueTwo: value },
})

const bitsOf = (flags: number): readonly number[] =>
  Array.from({ length: 31 }, (_, bit) => 2 ** bit).filter((bit) => (flags & bit) !== 0)

const families: readonly number[] = Object.values(FAMILY)
const otherFamilies = Array.from({ length: FAMILY.netlink }, (_, family) => family).filter(
  (family) => !families.includes(family),
)

/**
 * The same filter of system calls as that of bubblewrap, as engines read it. The default of older ones lets AF_VSOCK
 * through, which leads from a virtual machine to its host, and io_uring.
 */
export function buildSeccompProfile(): string {
  return JSON.stringify({
    defaultAction: 'SCMP_ACT_ALLOW',
    syscalls: [
      refuse([...REFUSED_CALLS, ...REFUSED_BY_ENGINES], ERROR.EPERM),
      refuse(MISSING_CALLS, ERROR.ENOSYS),
      ...bitsOf(NAMESPACE_FLAGS).map((flag) => refuse(['clone'], ERROR.EPERM, [equals(0, flag, flag)])),
      ...TYPING.map((request) => refuse(['ioctl'], ERROR.EPERM, [equals(1, request)])),
      ...otherFamilies.map((family) => refuse(['socket'], ERROR.EAFNOSUPPORT, [equals(0, family)])),
      refuse(['socket'], ERROR.EAFNOSUPPORT, [{ index: 0, op: 'SCMP_CMP_GT', value: FAMILY.netlink }]),
      refuse(['socket'], ERROR.EAFNOSUPPORT, [
        equals(0, FAMILY.netlink),
        { index: 2, op: 'SCMP_CMP_NE', value: NETLINK_ROUTE },
      ]),
      refuse(['socketpair'], ERROR.EAFNOSUPPORT, [{ index: 0, op: 'SCMP_CMP_NE', value: FAMILY.unix }]),
    ],
  })
}
