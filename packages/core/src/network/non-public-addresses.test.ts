import { BlockList, isIPv4, isIPv6 } from 'node:net'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseHost } from './host.ts'
import { findAddressKind } from './ip-address.ts'
import { listNonPublicRanges, NON_PUBLIC_BLOCKS, PUBLIC_ADDRESSES } from './non-public-addresses.ts'

const typeOf = (address: string): 'ipv4' | 'ipv6' => (isIPv4(address) ? 'ipv4' : 'ipv6')

/** Addresses that are near the limits of blocks, and others. */
const edges = NON_PUBLIC_BLOCKS.map(({ first }) => first)
const ipV6 = fc.ipV6().map((text) => parseHost(`[${text}]`) ?? '::')
const address = fc.oneof(fc.constantFrom(...edges), fc.ipV4(), ipV6)

describe('blocks of addresses that are not public', () => {
  it('hold the same addresses as the rules of the egress proxy', () => {
    // The list of Node takes IPv4 addresses for mapped ones, so each kind has a list of its own.
    const lists = { ipv4: new BlockList(), ipv6: new BlockList() }
    for (const { first, bits } of NON_PUBLIC_BLOCKS) lists[typeOf(first)].addSubnet(first, bits, typeOf(first))
    fc.assert(
      fc.property(address, (one) => {
        fc.pre(!one.startsWith('::ffff:'))
        expect(lists[typeOf(one)].check(one, typeOf(one))).toBe(findAddressKind(one) !== 'public')
      }),
      { numRuns: 2_000 },
    )
  })

  it('are left out of the blocks of public ones', () => {
    const allowed = new BlockList()
    const except = new BlockList()
    for (const { block, except: holes } of [PUBLIC_ADDRESSES[4], PUBLIC_ADDRESSES[6]]) {
      allowed.addSubnet(block.first, block.bits, typeOf(block.first))
      for (const { first, bits } of holes) except.addSubnet(first, bits, typeOf(first))
    }
    fc.assert(
      fc.property(address, (one) => {
        fc.pre(!one.startsWith('::ffff:'))
        const type = typeOf(one)
        expect(allowed.check(one, type) && !except.check(one, type)).toBe(findAddressKind(one) === 'public')
      }),
      { numRuns: 2_000 },
    )
  })
})

describe('ranges of addresses that are not public', () => {
  it('leave out the listed addresses, and no others', () => {
    fc.assert(
      fc.property(fc.array(address, { maxLength: 4 }), address, (listed, one) => {
        fc.pre(!one.startsWith('::ffff:'))
        const list = new BlockList()
        for (const { first, last } of listNonPublicRanges(listed)) list.addRange(first, last, typeOf(first))
        expect(list.check(one, typeOf(one))).toBe(findAddressKind(one) !== 'public' && !listed.includes(one))
      }),
      { numRuns: 500 },
    )
  })

  it('are in order, do not touch, and hold no IPv4 address in the form of IPv6', () => {
    const ranges = listNonPublicRanges([])
    expect(ranges).toContainEqual({ first: '10.0.0.0', last: '10.255.255.255' })
    expect(ranges).toContainEqual({ first: '::', last: '::fffe:ffff:ffff' })
    expect(ranges).toContainEqual({ first: '::1:0:0:0', last: '1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff' })
    for (const { first, last } of ranges) expect(isIPv4(first) ? isIPv4(last) : isIPv6(last)).toBe(true)
  })
})
