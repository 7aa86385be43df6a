import { BlockList } from 'node:net'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseHost } from './host.ts'
import { findAddressKind, isAddress } from './ip-address.ts'

test.each([
  ['1.1.1.1', 'public'],
  ['198.51.100.2', 'public'],
  ['192.0.1.255', 'public'],
  ['126.255.255.255', 'public'],
  ['128.0.0.0', 'public'],
  ['168.63.129.15', 'public'],
  ['172.15.255.255', 'public'],
  ['172.32.0.0', 'public'],
  ['223.255.255.255', 'public'],
  ['0.0.0.0', 'unspecified'],
  ['0.1.2.3', 'unspecified'],
  ['10.0.0.0', 'private'],
  ['10.255.255.255', 'private'],
  ['172.16.0.0', 'private'],
  ['172.31.255.255', 'private'],
  ['192.168.0.1', 'private'],
  ['127.0.0.1', 'loopback'],
  ['127.255.255.255', 'loopback'],
  ['169.254.0.1', 'link-local'],
  ['169.254.169.254', 'metadata'],
  ['169.254.170.2', 'metadata'],
  ['168.63.129.16', 'metadata'],
  ['100.100.100.200', 'metadata'],
  ['100.64.0.0', 'shared'],
  ['100.127.255.255', 'shared'],
  ['192.0.0.192', 'reserved'],
  ['192.88.99.1', 'reserved'],
  ['198.18.0.1', 'reserved'],
  ['198.19.255.255', 'reserved'],
  ['224.0.0.1', 'multicast'],
  ['239.255.255.255', 'multicast'],
  ['240.0.0.0', 'reserved'],
  ['255.255.255.255', 'reserved'],
  ['2606:4700::1111', 'public'],
  ['2001:db8::1', 'public'],
  ['2001:4860:4860::8888', 'public'],
  ['3fff:ffff::', 'public'],
  ['::', 'unspecified'],
  ['::1', 'loopback'],
  ['::2', 'embedded IPv4'],
  ['::7f00:1', 'embedded IPv4'],
  ['::ffff:7f00:1', 'embedded IPv4'],
  ['::ffff:101:101', 'embedded IPv4'],
  ['::ffff:0:7f00:1', 'embedded IPv4'],
  ['64:ff9b::7f00:1', 'embedded IPv4'],
  ['64:ff9b:1::1', 'embedded IPv4'],
  ['2001::1', 'embedded IPv4'],
  ['2002:7f00:1::', 'embedded IPv4'],
  ['2001:10::1', 'reserved'],
  ['2001:1ff::1', 'reserved'],
  ['fc00::1', 'private'],
  ['fdff::1', 'private'],
  ['fec0::1', 'private'],
  ['fd00:ec2::254', 'metadata'],
  ['fe80::1', 'link-local'],
  ['febf::1', 'link-local'],
  ['ff02::1', 'multicast'],
  ['100::1', 'reserved'],
  ['5f00::1', 'reserved'],
  ['4000::1', 'reserved'],
  ['1fff::1', 'reserved'],
])('%s is %s', (address, kind) => {
  expect(findAddressKind(address)).toBe(kind)
  expect(isAddress(address)).toBe(true)
})

test('names have no kind', () => {
  for (const name of ['localhost', 'a.test', '1.2.3.4.example', 'xn--bcher-kva.example', '127.0.0.1.nip.io']) {
    expect(findAddressKind(name)).toBeUndefined()
    expect(isAddress(name)).toBe(false)
  }
})

test('what is not a valid IPv6 address is never public', () => {
  for (const address of [
    '2606::1::2',
    '2606:1',
    '2606::12345',
    '2606::g',
    '1:2:3:4:5:6:7:8:9',
    '2606::1%eth0',
    ':',
    ':::',
  ])
    expect([address, findAddressKind(address)]).toEqual([address, 'reserved'])
})

const PRIVATE_V4 = ['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12']
const OTHERS_V4 = ['192.0.0.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15', '224.0.0.0/4', '240.0.0.0/4']

test('each IPv4 address is public if it is in none of the special ranges, however it is written', () => {
  const special = new BlockList()
  for (const range of [...PRIVATE_V4, ...OTHERS_V4, '168.63.129.16/32']) {
    const [first = '', bits] = range.split('/')
    special.addSubnet(first, Number(bits), 'ipv4')
  }
  // Half of them near the borders of a range.
  const anyV4 = fc.oneof(
    fc.integer({ min: 0, max: 0xffff_ffff }),
    fc
      .tuple(fc.constantFrom(...PRIVATE_V4, ...OTHERS_V4), fc.integer({ min: -2, max: 2 }), fc.boolean())
      .map(([range, step, isEnd]) => {
        const [first = '', bits] = range.split('/')
        const start = first.split('.').reduce((value, part) => value * 256 + Number(part), 0)
        return ((((isEnd ? start + 2 ** (32 - Number(bits)) : start) + step) % 2 ** 32) + 2 ** 32) % 2 ** 32
      }),
  )
  fc.assert(
    fc.property(anyV4, (value) => {
      const address = [24, 16, 8, 0].map((shift) => (value >>> shift) & 255).join('.')
      expect(findAddressKind(address) === 'public').toBe(!special.check(address, 'ipv4'))
      for (const written of [String(value), `0x${value.toString(16)}`, `0${value.toString(8)}`])
        expect(parseHost(written)).toBe(address)
    }),
  )
})

test('an IPv6 address with an IPv4 address in it is never public', () => {
  fc.assert(
    fc.property(fc.ipV4(), fc.constantFrom('::ffff:', '::', '64:ff9b::', '::ffff:0:'), (v4, prefix) => {
      const host = parseHost(`[${prefix}${v4}]`)
      expect(host && findAddressKind(host)).not.toBe('public')
    }),
  )
})

test('a public IPv6 address is in the range of the internet', () => {
  fc.assert(
    fc.property(fc.ipV6(), (written) => {
      const host = parseHost(`[${written}]`) ?? ''
      fc.pre(findAddressKind(host) === 'public')
      expect(host).toMatch(/^[23][0-9a-f]{3}:/)
    }),
  )
})
