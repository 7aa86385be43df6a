/** The kinds of addresses that differ in who may be behind them. All but `public` are reached only if a rule lists them. */
export type AddressKind =
  | 'public'
  | 'unspecified'
  | 'loopback'
  | 'private'
  | 'link-local'
  | 'metadata'
  | 'shared'
  | 'multicast'
  | 'reserved'
  | 'embedded IPv4'

export interface Range {
  readonly kind: AddressKind
  readonly first: bigint
  readonly bits: number
}

/**
 * IANA's registries of special addresses, and two endpoints of clouds that are in public or shared ranges. The ranges
 * for documentation are missing, so they count as public: they belong to nobody, and networks for tests use them.
 */
export const V4_RANGES: readonly Range[] = [
  range('metadata', '169.254.169.254', 32),
  range('metadata', '169.254.170.2', 32),
  range('metadata', '100.100.100.200', 32),
  range('metadata', '168.63.129.16', 32),
  range('unspecified', '0.0.0.0', 8),
  range('private', '10.0.0.0', 8),
  range('shared', '100.64.0.0', 10),
  range('loopback', '127.0.0.0', 8),
  range('link-local', '169.254.0.0', 16),
  range('private', '172.16.0.0', 12),
  range('reserved', '192.0.0.0', 24),
  range('reserved', '192.88.99.0', 24),
  range('private', '192.168.0.0', 16),
  range('reserved', '198.18.0.0', 15),
  range('multicast', '224.0.0.0', 4),
  range('reserved', '240.0.0.0', 4),
]

export const V6_RANGES: readonly Range[] = [
  range('unspecified', '::', 128),
  range('loopback', '::1', 128),
  range('metadata', 'fd00:ec2::254', 128),
  range('embedded IPv4', '::', 96),
  range('embedded IPv4', '::ffff:0:0', 96),
  range('embedded IPv4', '::ffff:0:0:0', 96),
  range('embedded IPv4', '64:ff9b::', 96),
  range('embedded IPv4', '64:ff9b:1::', 48),
  range('embedded IPv4', '2001::', 32),
  range('embedded IPv4', '2002::', 16),
  range('reserved', '2001::', 23),
  range('private', 'fc00::', 7),
  range('link-local', 'fe80::', 10),
  range('private', 'fec0::', 10),
  range('multicast', 'ff00::', 8),
]

/** Only these are routed on the internet. */
const GLOBAL_UNICAST = range('public', '2000::', 3)

/** The kind of an address in the form of `parseHost`. `undefined` if it is not an address, but a name. */
export function findAddressKind(host: string): AddressKind | undefined {
  const v4 = parseV4(host)
  if (v4 !== undefined) return V4_RANGES.find((each) => isIn(v4, each, 32))?.kind ?? 'public'
  if (!host.includes(':')) return undefined
  const v6 = parseV6(host)
  if (v6 === undefined) return 'reserved'
  const special = V6_RANGES.find((each) => isIn(v6, each, 128))
  return special?.kind ?? (isIn(v6, GLOBAL_UNICAST, 128) ? 'public' : 'reserved')
}

export const isAddress = (host: string): boolean => host.includes(':') || parseV4(host) !== undefined

function range(kind: AddressKind, first: string, bits: number): Range {
  const value = parseAddress(first)
  if (value === undefined) throw new Error(`${first} is not a valid address.`)
  return { kind, first: value, bits }
}

function isIn(address: bigint, { first, bits }: Range, width: number): boolean {
  const rest = BigInt(width - bits)
  return address >> rest === first >> rest
}

/** The number of an address in the form of `parseHost`. */
export function parseAddress(host: string): bigint | undefined {
  return parseV4(host) ?? parseV6(host)
}

function parseV4(text: string): bigint | undefined {
  if (!/^(?:\d{1,3}\.){3}\d{1,3}$/.test(text)) return undefined
  return text.split('.').reduce((value, part) => value * 256n + BigInt(part), 0n)
}

/** Only hexadecimal groups: `parseHost` writes no IPv4 parts. */
function parseV6(text: string): bigint | undefined {
  const halves = text.split('::')
  const [before = [], after = []] = halves.map((half) => (half === '' ? [] : half.split(':')))
  const missing = 8 - before.length - after.length
  if (halves.length > 2 || (halves.length === 2 ? missing < 1 : missing !== 0)) return undefined
  const groups = [...before, ...Array.from({ length: missing }, () => '0'), ...after]
  if (!groups.every((group) => /^[0-9a-f]{1,4}$/.test(group))) return undefined
  return groups.reduce((value, group) => value * 0x1_0000n + BigInt(`0x${group}`), 0n)
}
