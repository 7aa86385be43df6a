import { parseHost } from './host.ts'
import { parseAddress, type Range, V4_RANGES, V6_RANGES } from './ip-address.ts'

/** A block of addresses: `first/bits`. */
export interface AddressBlock {
  readonly first: string
  readonly bits: number
}

/** The addresses from `first` to `last`. */
export interface AddressRange {
  readonly first: string
  readonly last: string
}

interface Span {
  readonly first: bigint
  readonly last: bigint
}

type Family = 4 | 6

const WIDTHS: Readonly<Record<Family, number>> = { 4: 32, 6: 128 }

/** `::ffff:0:0/96`, which programs that keep all addresses in 128 bits use for IPv4. */
const MAPPED_V4: Span = { first: 0xffff_0000_0000n, last: 0xffff_ffff_ffffn }

/** Whether it is in 2000::/3. */
const isGlobal = (address: bigint): boolean => address >> 125n === 1n

/** The public addresses of IPv4 and IPv6 are a block each, without these. */
export const PUBLIC_ADDRESSES: Readonly<
  Record<Family, { readonly block: AddressBlock; readonly except: AddressBlock[] }>
> = {
  4: { block: { first: '0.0.0.0', bits: 0 }, except: toBlocks(V4_RANGES, 4) },
  6: {
    block: { first: '2000::', bits: 3 },
    except: toBlocks(
      V6_RANGES.filter(({ first }) => isGlobal(first)),
      6,
    ),
  },
}

/** All addresses that are not public, as few blocks. */
export const NON_PUBLIC_BLOCKS: readonly AddressBlock[] = [
  ...PUBLIC_ADDRESSES[4].except,
  // What is outside of 2000::/3.
  ...[0n, 0x4000n << 112n, 0x8000n << 112n].map((first, index) => ({
    first: formatAddress(first, 6),
    bits: [3, 2, 1][index] ?? 0,
  })),
  ...PUBLIC_ADDRESSES[6].except,
]

/**
 * All addresses that are not public, without those of the list. For programs that keep all addresses in 128 bits:
 * IPv4 addresses are never in a range of IPv6.
 */
export function listNonPublicRanges(without: readonly string[]): readonly AddressRange[] {
  const removed = without.map((host) => ({ host, value: parseAddress(host) }))
  return ([4, 6] as const).flatMap((family) => {
    const blocks = NON_PUBLIC_BLOCKS.filter(({ first }) => familyOf(first) === family)
    const spans = mergeSpans(
      blocks.map((block) => toSpan({ ...block, first: parseAddress(block.first) ?? 0n }, family)),
    )
    const holes = removed.flatMap(({ host, value }) =>
      value !== undefined && familyOf(host) === family ? [{ first: value, last: value }] : [],
    )
    return [...holes, ...(family === 6 ? [MAPPED_V4] : [])]
      .reduce<readonly Span[]>(removeSpan, spans)
      .map(({ first, last }) => ({ first: formatAddress(first, family), last: formatAddress(last, family) }))
  })
}

const familyOf = (address: string): Family => (address.includes(':') ? 6 : 4)

function toSpan({ first, bits }: Pick<Range, 'first' | 'bits'>, family: Family): Span {
  return { first, last: first + (1n << BigInt(WIDTHS[family] - bits)) - 1n }
}

function toBlocks(ranges: readonly Range[], family: Family): AddressBlock[] {
  const spans = ranges.map((range) => toSpan(range, family))
  const isInside = (one: Span, index: number): boolean =>
    spans.some((other, at) => at !== index && other.first <= one.first && one.last <= other.last)
  return ranges
    .filter((_range, index) => !isInside(spans[index] as Span, index))
    .map(({ first, bits }) => ({ first: formatAddress(first, family), bits }))
}

function mergeSpans(spans: readonly Span[]): readonly Span[] {
  const merged: Span[] = []
  for (const span of spans.toSorted((one, other) => (one.first < other.first ? -1 : 1))) {
    const before = merged.at(-1)
    if (before === undefined || span.first > before.last + 1n) merged.push(span)
    else merged[merged.length - 1] = { first: before.first, last: span.last > before.last ? span.last : before.last }
  }
  return merged
}

function removeSpan(spans: readonly Span[], hole: Span): readonly Span[] {
  return spans.flatMap((span) => {
    if (hole.last < span.first || span.last < hole.first) return [span]
    return [
      { first: span.first, last: hole.first - 1n },
      { first: hole.last + 1n, last: span.last },
    ].filter(({ first, last }) => first <= last)
  })
}

function formatAddress(value: bigint, family: Family): string {
  if (family === 4) return [24n, 16n, 8n, 0n].map((shift) => String((value >> shift) & 0xffn)).join('.')
  const groups = Array.from({ length: 8 }, (_, index) => ((value >> BigInt(16 * (7 - index))) & 0xffffn).toString(16))
  return parseHost(`[${groups.join(':')}]`) ?? ''
}
