type Range = readonly [network: string, bits: number, what: string]

const IPV4_REFUSED: readonly Range[] = [
  ['0.0.0.0', 8, 'this host'],
  ['10.0.0.0', 8, 'a private network'],
  ['100.64.0.0', 10, 'a carrier network'],
  ['127.0.0.0', 8, 'loopback'],
  ['168.63.129.16', 32, 'a cloud metadata service'],
  ['169.254.0.0', 16, 'link-local, where cloud metadata is'],
  ['172.16.0.0', 12, 'a private network'],
  ['192.0.0.0', 24, 'a protocol assignment'],
  ['192.0.2.0', 24, 'documentation'],
  ['192.168.0.0', 16, 'a private network'],
  ['198.18.0.0', 15, 'a test network'],
  ['198.51.100.0', 24, 'documentation'],
  ['203.0.113.0', 24, 'documentation'],
  ['224.0.0.0', 3, 'multicast or reserved'],
]

const IPV6_REFUSED: readonly Range[] = [
  ['::', 128, 'this host'],
  ['::1', 128, 'loopback'],
  ['64:ff9b:1::', 48, 'a private translation'],
  ['100::', 64, 'discarded'],
  ['2001::', 32, 'a tunnel'],
  ['2001:db8::', 32, 'documentation'],
  ['fc00::', 7, 'a private network, where cloud metadata may be'],
  ['fe80::', 10, 'link-local'],
  ['fec0::', 10, 'a private network'],
  ['ff00::', 8, 'multicast'],
]

/** IPv6 networks whose addresses carry an IPv4 address, and the bit at which it stands. */
const IPV4_INSIDE: readonly (readonly [network: string, bits: number, at: number])[] = [
  ['::ffff:0:0', 96, 96],
  ['::ffff:0:0:0', 96, 96],
  ['64:ff9b::', 96, 96],
  ['2002::', 16, 16],
  ['::', 96, 96],
]

const REFUSED_SUFFIXES = ['localhost', 'local', 'localdomain', 'internal', 'intranet', 'lan', 'home.arpa', 'svc']

/**
 * Why a URL may not be contacted, or nothing. What the operator wrote may lead anywhere; what a server said (a redirect,
 * OAuth metadata) must not lead into the machine or its networks.
 */
export function urlRefusal(url: URL, origin: 'operator' | 'foreign'): string | undefined {
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return `the scheme ${url.protocol} is not http or https`
  if (origin === 'operator') return undefined
  if (url.username !== '' || url.password !== '') return 'it carries a user name or password'
  // The URL parser has already turned every odd spelling of an IPv4 address (decimal, octal, hex) into the usual one.
  const host = url.hostname.replace(/\.$/, '')
  if (host.startsWith('[')) return addressRefusal(host.slice(1, -1))
  return /^[\d.]+$/.test(host) ? addressRefusal(host) : nameRefusal(host)
}

/** The same judgement for a bare address: a name must be asked again with each address that it resolves to. */
export function addressRefusal(address: string): string | undefined {
  const bits = address.includes(':') ? ipv6(address) : ipv4(address)
  if (bits === undefined) return `${address} is no address`
  const what = address.includes(':') ? ipv6Refusal(bits) : ipv4Refusal(bits)
  return what === undefined ? undefined : `${address} is ${what}`
}

function nameRefusal(host: string): string | undefined {
  if (!host.includes('.')) return `${host} is a name of the local network`
  const suffix = REFUSED_SUFFIXES.find((name) => host.endsWith(`.${name}`))
  return suffix === undefined ? undefined : `${host} is a name of the local network (.${suffix})`
}

function ipv4Refusal(bits: bigint): string | undefined {
  return IPV4_REFUSED.find(([network, length]) => within(bits, ipv4(network), 32 - length))?.[2]
}

function ipv6Refusal(bits: bigint): string | undefined {
  const refused = IPV6_REFUSED.find(([network, length]) => within(bits, ipv6(network), 128 - length))
  if (refused !== undefined) return refused[2]
  const carrier = IPV4_INSIDE.find(([network, length]) => within(bits, ipv6(network), 128 - length))
  if (carrier === undefined) return undefined
  return ipv4Refusal((bits >> BigInt(96 - carrier[2])) & 0xffffffffn)
}

function within(address: bigint, network: bigint | undefined, hostBits: number): boolean {
  return network !== undefined && address >> BigInt(hostBits) === network >> BigInt(hostBits)
}

function ipv4(text: string): bigint | undefined {
  const octets = text.split('.')
  if (octets.length !== 4 || !octets.every((octet) => /^\d{1,3}$/.test(octet) && Number(octet) < 256)) return undefined
  return octets.reduce((bits, octet) => (bits << 8n) | BigInt(octet), 0n)
}

function ipv6(text: string): bigint | undefined {
  const plain = text.replace(/%.*$/, '').replace(/[\d.]+$/, (tail) => (tail.includes('.') ? dottedTail(tail) : tail))
  const halves = plain.split('::')
  if (halves.length > 2) return undefined
  const head = groups(halves[0])
  const tail = groups(halves[1])
  const missing = 8 - head.length - tail.length
  if (halves.length === 2 ? missing < 1 : missing !== 0) return undefined
  const all = [...head, ...new Array<string>(missing).fill('0'), ...tail]
  if (!all.every((group) => /^[\da-f]{1,4}$/i.test(group))) return undefined
  return all.reduce((bits, group) => (bits << 16n) | BigInt(`0x${group}`), 0n)
}

const groups = (half: string | undefined): readonly string[] =>
  half === undefined || half === '' ? [] : half.split(':')

/** `::ffff:127.0.0.1`, as resolvers write it, with its tail in hexadecimal. */
function dottedTail(tail: string): string {
  const bits = ipv4(tail)
  return bits === undefined ? tail : `${(bits >> 16n).toString(16)}:${(bits & 0xffffn).toString(16)}`
}
